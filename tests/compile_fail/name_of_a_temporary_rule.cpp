// error: deleted.*view
// guard: name_of_a_temporary
#include <penstock/arch/rules.hpp>

using namespace penstock::arch;

void f(rule const& r) {
#ifdef COMPILE_FAIL
  std::string_view const name = name_of(r).view();
#else
  auto const spelled = name_of(r);
  std::string_view const name = spelled.view();
#endif
  (void)name;
}
