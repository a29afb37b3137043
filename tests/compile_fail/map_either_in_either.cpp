// error: a_way_of_either_holds_no_other_either
// guard: either_in_either
#include <penstock/arch/blocks.hpp>

using namespace penstock::arch;

constexpr auto norm = tensor("norm.weight", hidden);
#ifdef COMPILE_FAIL
constexpr auto ways = either(norm, either(tensor("ln.weight", hidden), tensor("ln.gamma", hidden)));
#else
constexpr auto ways = either(norm, tensor("ln.weight", hidden), tensor("ln.gamma", hidden));
#endif
static_assert(ways.list.size() == 3);
