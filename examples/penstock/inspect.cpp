#include <cstdio>
#include <map>

#include <penstock/core/json_writer.hpp>

#include "output.hpp"
#include "program.hpp"
#include "progress_bar.hpp"

using namespace penstock;

result<void> inspect(arguments const& a) {
  pipeline<program_policies> loader;
  auto m = open_model_of(loader, a);
  if (!m) return std::move(m).error();
  bytes tensors, files;
  std::map<std::string_view, std::pair<u64, bytes>> by_dtype;
  std::map<u32, std::pair<u64, bytes>> by_shard;
  for (auto const& t : m->weights.tensors) {
    tensors += t.where.size;
    ++by_dtype[name_of(t.type)].first, by_dtype[name_of(t.type)].second += t.where.size;
    ++by_shard[index_of(t.shard)].first, by_shard[index_of(t.shard)].second += t.where.size;
  }
  for (auto const& s : m->weights.shards) files += s.size;
  auto const* quant = m->config.quantization();
  auto const map = choose_map(loader.maps(), m->config);
  std::string const architecture{m->config.architecture()}, quantisation = quant ? to_string(*quant) : "none";

  if (!a.json.empty()) {
    std::string text;
    {
      penstock::detail::json_object o(text);
      o.add("uri", m->weights.uri);
      o.add("architecture", architecture);
      o.add("arch", map ? map->arch_name() : std::string_view{});
      o.add("quantisation", quantisation);
      o.add("tensors", u64{m->weights.tensors.size()}), o.add("shards", u64{m->weights.shards.size()});
      o.add("tensor_bytes", tensors), o.add("file_bytes", files), o.add("ignored", m->weights.ignored);
      {
        penstock::detail::json_object d(o.key("dtypes"));
        for (auto const& [name, n] : by_dtype) d.add(name, n.first);
      }
    }
    if (auto r = write_file(a.json, text); !r) return r;
    if (a.json == "-") return {};
  }
  std::printf("uri            %s\n", m->weights.uri.c_str());
  std::printf("architecture   %s\n", architecture.empty() ? "not said" : architecture.c_str());
  if (map) std::printf("weight map     %s\n", std::string{map->arch_name()}.c_str());
  else std::printf("weight map     none: %s\n", map.error().what());
  std::printf("quantisation   %s\n", quantisation.c_str());
  std::printf("tensors        %zu, %s\n", m->weights.tensors.size(), for_people(tensors).c_str());
  for (auto const& [name, n] : by_dtype)
    std::printf("  %-12s %llu, %s\n", std::string{name}.c_str(), static_cast<unsigned long long>(n.first),
                for_people(n.second).c_str());
  std::printf("shards         %zu, %s\n", m->weights.shards.size(), for_people(files).c_str());
  for (std::size_t i = 0; i < m->weights.shards.size(); ++i) {
    auto const& s = m->weights.shards[i];
    auto const& n = by_shard[static_cast<u32>(i)];
    std::printf("  %s  %llu tensors, %llu bytes\n", s.name.c_str(), static_cast<unsigned long long>(n.first),
                static_cast<unsigned long long>(s.size.count));
  }
  if (m->weights.ignored)
    std::printf("ignored        %llu tensors that the index does not give to their file\n",
                static_cast<unsigned long long>(m->weights.ignored));
  std::printf("snapshot       %s\n", m->snapshot.directory().c_str());
  return {};
}
