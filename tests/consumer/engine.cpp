// An engine of somebody else's that brings everything of its own: where bytes come from, what memory tensors live in, how
// a linear is stored, and which tensors there are. It loads with them and looks at every number.
#include <penstock/penstock.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

namespace acme {
using namespace penstock;

/// One archive in memory, read in place.
class archive {
 public:
  struct object {
    std::string const* file;
    bytes size() const { return bytes{file->size()}; }
    std::string version() const { return "1"; }
  };
  class lane {
   public:
    unsigned depth() const { return 1; }
    void submit(read_request<object> const& r) { next_ = r, waiting_ = true; }
    std::size_t wait(std::span<completion> out, std::chrono::microseconds) {
      if (!waiting_) return 0;
      char const* from = next_.from->file->data() + next_.range.first.count;
      for (auto const& to : next_.to) std::memcpy(to.to, from, to.bytes), from += to.bytes;
      waiting_ = false;
      out[0] = {next_.tag, 0, nullptr};
      return 1;
    }
    void wake() noexcept {}
    void cancel() noexcept { waiting_ = false; }
    bytes transport_bytes() const { return {}; }

   private:
    read_request<object> next_;
    bool waiting_ = false;
  };

  std::map<std::string, std::string> files;

  result<std::vector<object>> pin(uri const&, std::span<std::string const> names) {
    std::vector<object> pinned;
    for (auto const& n : names) {
      if (!files.contains(n)) return error{error_kind::not_found, "expected \"" + n + "\" in the archive, found none"};
      pinned.push_back({&files[n]});
    }
    return pinned;
  }
  result<std::vector<stored_object>> list(uri const&) {
    std::vector<stored_object> all;
    for (auto const& [name, content] : files) all.push_back({name, bytes{content.size()}});
    return all;
  }
  result<std::unique_ptr<lane>> open_lane(std::span<object const>, unsigned, unsigned) {
    return std::make_unique<lane>();
  }
};

/// Tensors begin on a cache line, and the engine counts them.
struct lined_memory {
  static constexpr memory_space space = memory_space::host;
  static inline int tensors = 0;
  static void* allocate(std::size_t n) noexcept { return ++tensors, std::aligned_alloc(64, (n + 63) / 64 * 64); }
  static void release(void* p, std::size_t) noexcept { --tensors, std::free(p); }
};

/// Eight-bit integers with one scale for each row.
struct int8_rows {
  static constexpr std::string_view name = "int8_rows";
  static constexpr auto linear = quant::linear_is(quant::payload(".q", dtype::int8, quant::out, quant::in),
                                                  quant::scale(".q_scale", dtype::f32, quant::out));
  static void dequantise(stored_rows const& r, float* to) noexcept {
    for (u64 row = 0; row < r.count; ++row) {
      float scale;
      std::memcpy(&scale, r.sides[0] + 4 * (r.first + row), 4);
      for (u64 c = 0; c < r.k; ++c)
        *to++ = static_cast<float>(static_cast<signed char>(r.payload[row * r.k + c])) * scale;
    }
  }
};

/// Two heads share q and k; what the engine's kernel wants of k is made of it.
struct tower {
  static constexpr std::string_view name = "tower";
  static constexpr dim width{"hidden_size"}, heads{"num_attention_heads"}, head{"head_dim"};
  static constexpr auto map =
      arch::rules(arch::tensor("norm", width),
                  arch::each("blocks.*", 0, arch::layers,
                             arch::fuse("qk", arch::linear("q", heads* head, width).by_heads(heads),
                                        arch::linear("k2", heads* head, width).by_heads(heads)),
                             arch::linear("k", heads* head, width).by_heads(heads),
                             arch::derived("k_transposed", "k", arch::rows_of_head(head, 0, head).transposed())));
};

struct policies : defaults {
  using storage = archive;
  using ownership = penstock::ownership::own<lined_memory>;
  using quant = penstock::quant::any_of<int8_rows>;
  using arch = tower;
};

/// A shard as the format says: the length of its header, the header, the tensors.
std::string one_shard() {
  std::string header = "{", data;
  auto add = [&](std::string const& name, char const* type, std::string const& shape, std::string const& content) {
    header += (header.size() > 1 ? ",\"" : "\"") + name + R"(":{"dtype":")" + type + R"(","shape":[)" + shape +
              R"(],"data_offsets":[)" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + content.size()) + "]}";
    data += content;
  };
  auto scales = [](std::vector<float> const& of) {
    return std::string(reinterpret_cast<char const*>(of.data()), 4 * of.size());
  };
  for (std::string const name : {"q", "k2", "k"}) {
    std::string const numbers =
        name == "k" ? std::string{1, 2, -3, 4, 5, 6, 7, -8} : std::string(8, name == "q" ? 1 : 2);
    add("blocks.0." + name + ".q", "I8", "4,2", numbers);
    add("blocks.0." + name + ".q_scale", "F32", "4", scales({1, 2, 0.5f, 4}));
  }
  add("norm", "F32", "2", scales({1, 1}));
  header += "}";
  std::string length(8, '\0');
  for (unsigned i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header + data;
}
}  // namespace acme

int main() {
  using namespace acme;
  pipeline<policies> loader;
  loader.storage().files["model.safetensors"] = one_shard();
  loader.storage().files["config.json"] =
      R"({"hidden_size":2,"num_hidden_layers":1,"num_attention_heads":2,"head_dim":2,"quantization_config":{"quant_method":"int8_rows"}})";
  auto const model = loader.open("archive://tower").value();
  for (u32 rank = 0; rank < 2; ++rank) {
    auto const plan = loader.plan(model, topology{.tp = 2, .rank = rank}).value();
    std::map<std::string, owned_tensor<lined_memory>> got;
    (void)loader.load(plan, [&](parameter const& p, owned_tensor<lined_memory> t) { got[p.name] = std::move(t); })
        .value();
    auto const& made = got.at("blocks.0.k_transposed");  // [head, width, rows] in BF16
    u16 numbers[4];
    std::memcpy(numbers, made.data(), sizeof numbers);
    float const want[2][4] = {{1, -6, 2, 8}, {2.5f, 28, 3, -32}};
    for (unsigned i = 0; i < 4; ++i)
      if (float_of_bf16(numbers[i]) != want[rank][i]) return std::printf("rank %u: number %u is wrong\n", rank, i);
    if (got.at("blocks.0.qk.q").data()[3] != std::byte{1} || got.at("blocks.0.qk.q").data()[4] != std::byte{2})
      return std::puts("q and k2 are not row blocks of one parameter");
    if (got.size() != 6 || lined_memory::tensors != 6) return std::printf("%zu parameters, 6 wanted\n", got.size());
  }
  return lined_memory::tensors;
}
