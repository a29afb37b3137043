#pragma once
#include <boost/test/unit_test.hpp>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <penstock/format/safetensors.hpp>

namespace fixture {
inline std::span<std::byte const> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

/// Eight bytes, little-endian.
inline std::string length_bytes(penstock::u64 n) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(n >> (8 * i) & 0xff);
  return out;
}

/// A safetensors file: the length of the header, the header, the data.
inline std::string st(std::string_view header, std::string_view data) {
  return length_bytes(header.size()).append(header).append(data);
}
inline std::string st(std::string_view header, std::size_t data) { return st(header, std::string(data, '\x5a')); }

/// Reads a whole file as the library does: its length first, then its header.
inline penstock::result<penstock::shard_header> read(std::string_view file,
                                                     penstock::header_limits const& limits = {}) {
  auto const all = bytes_of(file);
  penstock::bytes const size{all.size()};
  auto const length =
      penstock::header_length(all.first(all.size() < 8 ? all.size() : 8), size, "m.safetensors", limits);
  if (!length) return length.error();
  return penstock::parse_header(all.subspan(8, length->count), size, penstock::object_id{7}, "m.safetensors", limits);
}

/// Is there an error of this kind, and are all these words in its message?
template <class Result>
boost::test_tools::predicate_result fails(Result const& r, penstock::error_kind kind,
                                          std::initializer_list<std::string_view> words) {
  boost::test_tools::predicate_result out{true};
  auto const no = [&](std::string_view why, std::string_view what) {
    out = false;
    out.message() << why << what;
  };
  if (r) return no("there is no error", ""), out;
  if (r.error().kind() != kind) return no("another kind: ", r.error().message()), out;
  for (auto const word : words)
    if (r.error().message().find(word) == std::string::npos)
      return no(std::string{word} + " is missing in: ", r.error().message()), out;
  return out;
}
template <class Result>
auto bad_format(Result const& r, std::initializer_list<std::string_view> words) {
  return fails(r, penstock::error_kind::format, words);
}
template <class Result>
auto bad_config(Result const& r, std::initializer_list<std::string_view> words) {
  return fails(r, penstock::error_kind::config, words);
}
}  // namespace fixture
