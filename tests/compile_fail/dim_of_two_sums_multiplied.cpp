// error: a_dim_has_at_most_two_terms_of_two_factors
// guard: dim_product
#include <penstock/arch/dims.hpp>

using namespace penstock::arch;

#ifdef COMPILE_FAIL
constexpr auto width = (hidden + heads) * (hidden + head_dim);
#else
constexpr auto width = hidden * (hidden + head_dim);
#endif
static_assert(!width.zero());
