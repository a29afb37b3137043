// A plan for a config and a header of somebody else's: refused, or every byte of every parameter has one copy.
// Input: one byte for the ranks, the config on one line, the header.
#include <penstock/arch/as_stored.hpp>
#include <penstock/arch/bert.hpp>
#include <penstock/arch/deepseek.hpp>
#include <penstock/arch/glm4_moe.hpp>
#include <penstock/arch/gpt_oss.hpp>
#include <penstock/arch/kimi_k25.hpp>
#include <penstock/arch/llama.hpp>
#include <penstock/arch/mixtral.hpp>
#include <penstock/arch/weight_map.hpp>
#include <penstock/format/safetensors.hpp>
#include <penstock/plan/choose_map.hpp>
#include <penstock/plan/describe.hpp>
#include <penstock/plan/make_plan.hpp>
#include <penstock/quant/fp8_block.hpp>
#include <penstock/quant/mxfp4.hpp>
#include <penstock/quant/wna16.hpp>

#include <algorithm>
#include <set>

#include "check.hpp"

using namespace penstock;
using namespace fuzz;

namespace {
constexpr bytes most = gibibytes(1);  // of the file: a plan is as long as the file

void check_copy(plan const& p, plan_read const& r, plan_copy const& c) {
  check(c.kind == plan_copy::what::place && c.to < p.parameters.size(), "a copy has a parameter");
  check(c.width > 0 && c.rows > 0 && (c.rows == 1 || (c.from_pitch >= c.width && c.at_pitch >= c.width)),
        "a copy is a box");
  check(u64{c.from} + u64{c.rows - 1} * c.from_pitch + c.width <= r.size, "a copy lies inside its read");
  check(c.where().at + c.where().extent() <= p.parameters[c.to].size, "a copy lies inside its parameter");
}

void check_plan(plan const& p, bytes file, bytes slot) {
  std::vector<u32> pieces(p.parameters.size());
  std::vector<u64> written(p.parameters.size());
  u64 end = 0;
  for (auto const& r : p.reads) {
    check(r.size > 0 && r.size <= slot.count, "a read fits a slot");
    check(r.object == no_object || (r.object == object_id{0} && r.first + r.size <= file.count),
          "a read lies inside the file");
    check(r.object == no_object || r.first >= end, "reads do not overlap");
    if (r.object != no_object) end = r.first + r.size;
    check(r.copies < r.copies_end && r.copies_end <= p.copies.size(), "a read has copies");
    for (u32 i = r.copies; i < r.copies_end; ++i) {
      auto const& c = p.copies[i];
      check_copy(p, r, c);
      ++pieces[c.to], written[c.to] += u64{c.rows} * c.width;
    }
  }
  std::set<std::string_view> names;
  for (auto const& q : p.parameters) {
    auto const i = index_of(q.id);
    check(&q == &p.parameters[i] && names.insert(q.name).second, "parameters have numbers and names of their own");
    check(q.pieces == pieces[i] && (q.derived || written[i] == q.size.count), "every byte has one copy");
    check(q.shape.size(q.type) == q.size, "a parameter has the size of its shape");
  }
  check(to_json(p).size() > 2, "a plan can be shown");
}

void check_map(checkpoint const& c, model_config const& config, map_view const& map, topology const& at) {
  auto const p = make_plan(c, config, map, at);
  if (p) return check_plan(*p, c.shards[0].size, p->memory.slot);
  check(!p.error().message().empty(), "an error has a message");
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(u8 const* data, std::size_t size) {
  auto const text = text_of(data, size);
  auto const line = text.find('\n');
  if (line == text.npos || !line) return 0;
  auto const config = model_config::parse(bytes_of(text.substr(1, line - 1)));
  auto const json = text.substr(line + 1);
  auto const header = parse_header(bytes_of(json), most, object_id{0}, "m.safetensors", {.allow_trailing = true});
  if (!config || !header) return 0;
  checkpoint c;
  c.uri = "memory://m", c.shards = {{"m.safetensors", most, "v"}}, c.tensors = header->tensors;
  topology at;
  at.tp = 1 + data[0] % 4, at.rank = data[0] / 4 % at.tp, at.ep = data[0] / 16 % 2 ? at.tp : 1;
  using quant_policy = quant::any_of<quant::fp8_block, quant::mxfp4, quant::wna16, quant::wna16_channel>;
  for (auto const& choice :
       maps_of<arch::any_of<arch::llama, arch::deepseek_v3, arch::deepseek_v2, arch::glm4_moe, arch::mixtral,
                            arch::bert, arch::gpt_oss, arch::kimi_k25, arch::as_stored>,
               quant_policy>())
    check_map(c, *config, choice.map, at);
  return 0;
}
