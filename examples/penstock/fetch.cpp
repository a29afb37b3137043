#include <cstdio>

#include "program.hpp"

using namespace penstock;

result<void> fetch(arguments const& a) {
  pipeline<program_policies> loader;
  auto m = open_model_of(loader, a);
  if (!m) return std::move(m).error();
  if (auto r = copy_snapshot(m->snapshot, a.directory); !r) return r;
  auto const files = m->snapshot.files();
  if (!files) return files.error();
  for (auto const& f : *files) std::printf("%s\n", f.c_str());
  return {};
}
