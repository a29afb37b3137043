#pragma once
#include <string>
#include <string_view>

namespace fixture {
/// A safetensors file: the length of the header, the header, the data.
inline std::string st(std::string_view header, std::string_view data) {
  std::string file;
  for (unsigned i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return (file += header) += data;
}
/// A file of one BF16 vector.
inline std::string vector_file(std::string_view name, unsigned elements = 2) {
  auto const n = std::to_string(2 * elements);
  return st("{\"" + std::string{name} + "\":{\"dtype\":\"BF16\",\"shape\":[" + std::to_string(elements) +
                "],\"data_offsets\":[0," + n + "]}}",
            std::string(2 * elements, 'd'));
}
inline constexpr std::string_view index_of_two =
    R"({"weight_map":{"model.embed_tokens.weight":"model-00001-of-00002.safetensors","lm_head.weight":"model-00002-of-00002.safetensors"}})";
}  // namespace fixture
