// error: a_uri_is_not_a_directory__open_the_model_first
// guard: uri_is_not_a_directory
#include <penstock/model/snapshot.hpp>

void f(penstock::local_snapshot const& snapshot) {
#ifdef COMPILE_FAIL
  auto const text = penstock::read_text("az://models/kimi", "preprocessor_config.json");
#else
  auto const text = penstock::read_text(snapshot, "preprocessor_config.json");
#endif
  (void)text.has_value(), (void)snapshot;
}
