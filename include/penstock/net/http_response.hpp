#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/core/bytes.hpp>
#include <penstock/core/error.hpp>
#include <penstock/core/separate.hpp>

PENSTOCK_BEGIN
namespace net {
/// One header. In answers the name is in lower case.
struct header {
  std::string name;
  std::string value;
};

/// The status and the headers of an answer, fed line by line.
///
/// Each status line begins anew, since 1xx answers come before the real one.
class response_head {
 public:
  /// One line as it came, line end included. Lines after the end (trailers of a chunked body) are ignored.
  void take_line(std::string_view line);

  [[nodiscard]] int status() const noexcept { return status_; }
  /// The empty line after the headers of a final answer was seen.
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] std::vector<header> const& headers() const noexcept { return headers_; }
  /// The first value of a header, by its name in lower case.
  [[nodiscard]] std::optional<std::string_view> get(std::string_view name) const noexcept;
  /// Is the header there twice, with different values?
  [[nodiscard]] bool contradicts_itself(std::string_view name) const noexcept;
  /// Bytes of the lines so far.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// `Content-Length`. @returns nothing where there is none or it is no 63-bit number
  [[nodiscard]] std::optional<bytes> content_length() const noexcept;
  /// `ETag` with its quotes.
  [[nodiscard]] std::string etag() const;

 private:
  int status_ = 0;
  bool ended_ = false;
  std::size_t size_ = 0;
  std::vector<header> headers_;
};

/// `Content-Range: bytes first-last/total`, where `*` stands for an unknown total and `*/total` for no range.
struct content_range {
  std::optional<byte_range> range{};
  std::optional<bytes> total{};
};
/// @returns nothing for another unit or a text that is not one
std::optional<content_range> parse_content_range(std::string_view value) noexcept;

/// ETags compare with their quotes; Azure's listing leaves them out.
std::string quoted_etag(std::string_view etag);

/// What one range request asked for.
struct expected_range {
  byte_range range;
  bytes total;                     ///< size of the pinned object
  std::string_view etag;           ///< of the pinned object; empty: it had none
  std::string_view modified = {};  ///< its Last-Modified, where it had no ETag; empty: it had none
  bool whole = false;              ///< the server has no ranges: the object is to come from its beginning
};

/// What to do with an answer, decided at the end of its header: before any byte of the body is written anywhere.
struct verdict {
  enum class what : u8 {
    use,         ///< the body is what was asked for
    retry,       ///< this connection is not to be trusted; again on another one
    retry_once,  ///< likely a proxy's fault; the second time it is an error of `kind`
    refuse,      ///< an error of `kind`
  };
  what next = what::use;
  error_kind kind = error_kind::io;
  std::string why{};         ///< what was expected and found
  bool close_after = false;  ///< use the body, but not the connection
};

/// Is this answer (status 2xx) the range that was asked for, of the version that was pinned?
/// @source RFC 9110, sections 8.6, 8.8.3, 14.4, 15.3.7
verdict judge_range(response_head const& head, expected_range const& expected);
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/http_response.ipp>
#endif
