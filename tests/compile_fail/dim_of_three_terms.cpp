// error: a_dim_has_at_most_two_terms_of_two_factors
// guard: dim_terms
#include <penstock/arch/dims.hpp>

using namespace penstock::arch;

#ifdef COMPILE_FAIL
constexpr auto width = hidden + heads + head_dim;
#else
constexpr auto width = hidden + heads;
#endif
static_assert(!width.zero());
