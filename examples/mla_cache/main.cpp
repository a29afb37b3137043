// The loader that answered "!!!!", written with owned tensors: an engine that fuses q_a_proj and kv_a_proj_with_mqa of
// DeepSeek's attention itself. The two may lie far apart in different shards, and the slots are refilled meanwhile, so
// whichever comes first has to wait, and what waits is owned: a retained group of loans, views or pointers does not compile.
//
//   mla_cache URI [SLOT_BYTES]     prints the SHA-256 of each fused parameter, and how much waited at most
//
// arch::deepseek_v3 does better: it names both as pieces of one parameter, so each is written at its rows when it comes
// and nothing waits. What waits here is for steps that need two tensors at once.
#include <penstock/arch/deepseek.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/quant/fp8_block.hpp>
#include <penstock/storage/any.hpp>
#include <penstock/tensor/retention.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace acme {
using namespace penstock;
using memory = owned_tensor<host_memory>;

/// DeepSeek-V3 with the two as parameters of their own.
struct deepseek : arch::deepseek_v3 {
  static constexpr std::string_view name = "acme_deepseek";
  static constexpr auto map = override_rules(
      deepseek_v3::map,
      each("model.layers.*", 0, arch::layers,
           shared_by(rank_group::attention,
                     arch::linear("self_attn.q_a_proj", q_lora, arch::hidden).when(q_lora).bias(arch::attention_bias),
                     arch::linear("self_attn.kv_a_proj_with_mqa", kv_lora + rope, arch::hidden)
                         .when(q_lora)
                         .bias(arch::attention_bias))));
};

struct policies : defaults {
  using storage = penstock::storage::any;
  using ownership = penstock::ownership::borrow;
  using quant = penstock::quant::any_of<penstock::quant::fp8_block>;
  using arch = deepseek;
};

/// q_a_proj above kv_a_proj_with_mqa. Whichever comes first waits, whole and owned, until the other one begins to come.
struct fused_a {
  using kept = std::tuple<memory>;  // a borrowed_tensor, a span or a pointer in here does not compile
  /// @param out  the rows of what waited; those of the other tensor are written as its pieces come
  static void finish(kept& first, borrowed_tensor const&, std::byte* out) {
    auto& waited = std::get<0>(first);
    std::copy_n(waited.data(), waited.size().count, out);
    waited = {};
  }
};
static_assert(retained_group<fused_a>);

/// One parameter of the engine's: the weights, or the block scales, of one layer.
struct fused {
  std::string name;
  parameter const *q_a, *kv_a;
  parameter const* first = nullptr;  // the one that waits, or waited
  retention<fused_a> waiting{};
  memory whole{};  // from the first piece of the second tensor on
  int complete = 0;

  bytes size() const { return q_a->size + kv_a->size; }
  u64 at(parameter const* p) const { return p == q_a ? 0 : q_a->size.count; }
};

std::string sha256(memory const& t) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  EVP_Digest(t.data(), t.size().count, sum, &n, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < n; ++i) hex += "0123456789abcdef"[sum[i] >> 4], hex += "0123456789abcdef"[sum[i] & 15];
  return hex;
}

/// The sink. Pieces come a slot at a time, in the order in which the shards hold them.
class engine {
 public:
  explicit engine(plan const& p) : of_(p.parameters.size()) {
    auto const other = [](std::string name, std::string_view is) { return name.replace(name.find("q_a_proj"), 8, is); };
    for (auto const& q_a : p.parameters)
      if (q_a.name.find(".q_a_proj.") != q_a.name.npos)
        all_.push_back(
            {other(q_a.name, "fused_qkv_a_proj_with_mqa"), &q_a, p.find(other(q_a.name, "kv_a_proj_with_mqa"))});
    for (auto& f : all_) of_[index_of(f.q_a->id)] = of_[index_of(f.kv_a->id)] = &f;
  }

  void piece(parameter const& p, landed_piece const& w, borrowed_tensor const& t, lease<device::host::stream>&) {
    auto* const f = of_[index_of(p.id)];
    if (!f) return;  // another parameter: an engine would use it, this example does not
    if (!f->first) {
      f->first = &p;
      f->waiting.keep<0>(memory::allocate(p.size).value());  // keep<0>(t) does not compile: t ends with its lease
      peak_ = std::max(peak_, retained_ += p.size);
    } else if (f->first != &p && !f->whole.size().count) {
      f->whole = memory::allocate(f->size()).value();
      fused_a::finish(f->waiting.kept(), t, f->whole.data() + f->at(f->first));
      retained_ = bytes{retained_.count - f->first->size.count};
    }
    auto* const to = f->whole.size().count ? f->whole.data() + f->at(&p) : std::get<0>(f->waiting.kept()).data();
    for (u64 row = 0; row < w.where.rows; ++row)
      t.copy_to(to + w.where.at.count + row * w.where.pitch.count, bytes{row * w.pitch.count}, w.where.width);
  }
  void ready(parameter const& p) {
    auto* const f = of_[index_of(p.id)];
    if (!f || ++f->complete < 2) return;
    std::printf("%s  %s\n", sha256(f->whole).c_str(), f->name.c_str());
    f->whole = {};
  }
  bytes peak_retained() const { return peak_; }

 private:
  std::vector<fused> all_;
  std::vector<fused*> of_;  // by parameter; null: not one of the two
  bytes retained_, peak_;
};

result<void> run(std::string_view uri, bytes slot) {
  pipeline<policies> loader;
  auto const model = loader.open(uri);
  if (!model) return model.error();
  auto plan = loader.plan(*model, {}, {.memory_limit = mebibytes(64), .slot = slot, .lanes = 1});
  if (!plan) return plan.error();
  plan->memory.slots = plan->memory.depth = 2;  // a plan is a value: a ring of two slots
  engine mine{*plan};
  auto const report = loader.load(*plan, mine);
  if (!report) return report.error();
  std::printf("%u slots of %llu bytes, at most %llu bytes waited\n", report->slots,
              static_cast<unsigned long long>(report->slot_bytes.count),
              static_cast<unsigned long long>(mine.peak_retained().count));
  return {};
}
}  // namespace acme

int main(int argc, char** argv) {
  auto const slot = penstock::bytes{argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 65536};
  auto const done = acme::run(argc > 1 ? argv[1] : "", slot);
  if (!done) std::fprintf(stderr, "%s: %s\n", name_of(done.error().kind()).data(), done.error().what());
  return done ? 0 : 1;
}
