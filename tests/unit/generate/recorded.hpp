#pragma once
#include <simdjson.h>

#include <string>
#include <string_view>
#include <vector>

#include "../../../examples/generate/bpe.hpp"

namespace recorded {
/// A file of tests/data/smollm2.
inline std::string file(std::string_view name) {
  return std::string{PENSTOCK_SOURCE} + "/tests/data/smollm2/" + std::string{name};
}

inline std::string text(simdjson::dom::element value) { return std::string{std::string_view{value}}; }

inline std::vector<generate::token_id> ids(simdjson::dom::element value) {
  std::vector<generate::token_id> out;
  simdjson::dom::array const list = value;
  for (auto const id : list) out.push_back(static_cast<generate::token_id>(std::uint64_t{id}));
  return out;
}
}  // namespace recorded
