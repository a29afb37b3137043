#include <simdjson.h>

#include <charconv>

#include "arguments.hpp"

using namespace penstock;

namespace {
using simdjson::dom::element;

error wrong(std::string const& path, std::string const& found) {
  return error{error_kind::usage,
               "--experts " + path +
                   R"(: expected {"all": [[0, 1, 2], [3, 0]]}, or numbers of layers for "all", found )" + found};
}

std::optional<std::vector<std::vector<u32>>> blocks_of(element value) {
  std::vector<std::vector<u32>> blocks;
  simdjson::dom::array lists, list;
  if (value.get(lists)) return std::nullopt;
  for (element const one : lists) {
    if (one.get(list)) return std::nullopt;
    auto& block = blocks.emplace_back();
    for (element const expert : list) {
      u64 n = 0;
      if (expert.get(n) || n > ~u32{}) return std::nullopt;
      block.push_back(static_cast<u32>(n));
    }
  }
  return blocks;
}
}  // namespace

result<std::vector<expert_table>> read_expert_tables(std::string const& path) {
  simdjson::dom::parser parser;
  element all;
  simdjson::dom::object layers;
  if (auto const failed = parser.load(path).get(all)) {
    if (failed == simdjson::IO_ERROR)
      return error{error_kind::not_found, "--experts: cannot read " + path + "; name a JSON file"};
    return wrong(path, simdjson::error_message(failed));
  }
  if (all.get(layers)) return wrong(path, "no object");
  std::vector<expert_table> tables;
  for (auto const& [key, value] : layers) {
    expert_table t;
    if (key != "all") {
      u32 layer = 0;
      auto const [end, failed] = std::from_chars(key.data(), key.data() + key.size(), layer);
      if (failed != std::errc{} || end != key.data() + key.size())
        return wrong(path, "the key \"" + std::string{key} + "\"");
      t.layer = layer;
    }
    auto blocks = blocks_of(value);
    if (!blocks) return wrong(path, "something else for \"" + std::string{key} + "\"");
    t.blocks = *std::move(blocks);
    tables.push_back(std::move(t));
  }
  return tables;
}
