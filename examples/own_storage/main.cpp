// A storage of one's own: files that lie one after the other in a buffer, as an engine's archive might hold them.
#include <penstock/arch/as_stored.hpp>
#include <penstock/pipeline/pipeline.hpp>

#include <cstdio>
#include <cstring>
#include <map>

/// What a storage must be is written at penstock::storage_backend: two types, three functions.
class archive {
 public:
  struct object {  // one pinned file
    std::vector<std::byte> const* file;
    penstock::bytes size() const { return penstock::bytes{file->size()}; }
    std::string version() const { return "1"; }
  };

  class lane {  // a queue of reads; this one answers them inside wait()
   public:
    unsigned depth() const { return 1; }
    void submit(penstock::read_request<object> const& r) { next_ = r, waiting_ = true; }
    std::size_t wait(std::span<penstock::completion> out, std::chrono::microseconds) {
      if (!waiting_) return 0;
      auto const* from = next_.from->file->data() + next_.range.first.count;
      for (auto const& to : next_.to) std::memcpy(to.to, from, to.bytes), from += to.bytes;
      waiting_ = false;
      out[0] = {next_.tag, 0, nullptr};
      return 1;
    }
    void wake() noexcept {}
    void cancel() noexcept { waiting_ = false; }
    penstock::bytes transport_bytes() const { return {}; }

   private:
    penstock::read_request<object> next_;
    bool waiting_ = false;
  };

  std::map<std::string, std::vector<std::byte>> files;

  penstock::result<std::vector<object>> pin(penstock::uri const&, std::span<std::string const> names) {
    std::vector<object> pinned;
    for (auto const& n : names) {
      if (!files.contains(n))
        return penstock::error{penstock::error_kind::not_found,
                               "expected \"" + n + "\" in the archive, found no such file"};
      pinned.push_back({&files[n]});
    }
    return pinned;
  }
  penstock::result<std::vector<penstock::stored_object>> list(penstock::uri const&) {
    std::vector<penstock::stored_object> all;
    for (auto const& [name, content] : files) all.push_back({name, penstock::bytes{content.size()}});
    return all;
  }
  penstock::result<std::unique_ptr<lane>> open_lane(std::span<object const>, unsigned, unsigned) {
    return std::make_unique<lane>();
  }
};

struct policies : penstock::defaults {
  using storage = archive;
  using ownership = penstock::ownership::own<>;
  using quant = penstock::quant::none;
  using arch = penstock::arch::as_stored;
};

int main() {
  std::string file = R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  std::string const length{static_cast<char>(file.size()), 0, 0, 0, 0, 0, 0, 0};
  file = length + file + "abc";
  auto const* bytes = reinterpret_cast<std::byte const*>(file.data());
  penstock::pipeline<policies> loader;
  loader.storage().files["model.safetensors"] = {bytes, bytes + file.size()};

  auto const model = loader.open("archive://model").value();
  auto const plan = loader.plan(model).value();
  bool right = false;
  (void)loader
      .load(plan,
            [&](penstock::parameter const& p, penstock::owned_tensor<penstock::host_memory> t) {
              right = p.name == "w" && std::memcmp(t.data(), "abc", 3) == 0;
            })
      .value();
  std::puts(right ? "w is abc" : "w is wrong");
  return right ? 0 : 1;
}
