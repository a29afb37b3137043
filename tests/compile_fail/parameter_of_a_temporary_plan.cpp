// error: deleted.*find
// guard: parameter_of_a_temporary_plan
#include <penstock/plan/plan.hpp>

penstock::plan made();

void f() {
#ifdef COMPILE_FAIL
  auto const* embedding = made().find("model.embed_tokens.weight");
#else
  auto const plan = made();
  auto const* embedding = plan.find("model.embed_tokens.weight");
#endif
  (void)embedding;
}
