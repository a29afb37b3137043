// error: two_rules_claim_one_tensor<.*"layers\.\*\.norm\.weight".*overlapping_layers\.cpp:\d+"
// error(clang): claim_one_tensor<.*'n', 'o', 'r', 'm', '\.', .*'e', 'r', 's', '\.', 'c', 'p', 'p', ':'
// error(nvcc): two_rules_claim_one_tensor<.*'n', 'o', 'r', 'm'.*'l', 'a', 'y', 'e', 'r', 's', '.', 'c', 'p', 'p', ':'
// guard: map_claims_once
#include <penstock/arch/blocks.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto map = rules(each("layers.*", 0, 4, tensor("norm.weight", hidden)),
                                    each("layers.*", 3, layers, tensor("norm.weight", hidden).as("late")));
#else
  static constexpr auto map = rules(each("layers.*", 0, 4, tensor("norm.weight", hidden)),
                                    each("layers.*", 4, layers, tensor("norm.weight", hidden).as("late")));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
