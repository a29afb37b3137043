#include <cstdio>

#include "program.hpp"

using namespace penstock;

result<void> fetch(arguments const& a) {
  pipeline<program_policies> loader;
  open_options o;
  o.watch.on_notice = print_notice;
  auto const snapshot = loader.snapshot(a.uri, o);
  if (!snapshot) return snapshot.error();
  if (auto r = copy_snapshot(*snapshot, a.directory); !r) return r;
  auto const files = snapshot->files();
  if (!files) return files.error();
  for (auto const& f : *files) std::printf("%s\n", f.c_str());
  return {};
}
