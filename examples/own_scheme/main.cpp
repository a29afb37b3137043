// A quant scheme of one's own: which tensors it stores for a linear [N, K], and along which axes. No architecture is
// named, so it works with every map; whether the two fit is checked while compiling.
#include <penstock/arch/llama.hpp>
#include <penstock/arch/weight_map.hpp>

#include <cstdio>

namespace acme {
/// Eight-bit integers with one scale for each 64 of K.
struct int8_groups {
  static constexpr std::string_view name = "int8_groups";
  static constexpr auto linear = penstock::quant::linear_is(
      penstock::quant::payload(".q", penstock::dtype::int8, penstock::quant::out, penstock::quant::in),
      penstock::quant::scale(".q_scale", penstock::dtype::f32, penstock::quant::out, penstock::quant::in / 64));
};
static_assert(penstock::quant_scheme<int8_groups>);
}  // namespace acme

constexpr auto map = penstock::weight_map_of<penstock::arch::llama, penstock::quant::any_of<acme::int8_groups>>::view();

int main() {
  // Every linear of the map now has the scheme's tensors; norms and embeddings have not.
  unsigned payloads = 0, scales = 0;
  for (auto const& line : map.lines()) {
    auto const name = penstock::arch::name_of(map.rules()[line.rule], map.suffixes()[line.suffix]);
    payloads += name.view().ends_with(".q"), scales += name.view().ends_with(".q_scale");
  }
  std::printf("%u linears with payload and scale\n", payloads);
  return payloads == 7 && scales == 7 ? 0 : 1;
}
