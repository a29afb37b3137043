// error: a_uri_is_not_a_directory__open_the_model_first
// guard: uri_is_not_a_directory
#include <penstock/model/snapshot.hpp>

void f(penstock::local_snapshot const& snapshot, std::filesystem::path const& where) {
#ifdef COMPILE_FAIL
  auto const config = penstock::read_config(where);
#else
  auto const config = penstock::read_config(snapshot);
#endif
  (void)config.has_value();
  (void)snapshot, (void)where;
}
