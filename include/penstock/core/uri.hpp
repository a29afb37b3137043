#pragma once
#include <string>
#include <string_view>
#include <utility>

#include <penstock/core/result.hpp>

PENSTOCK_BEGIN
namespace detail {
/// A URI for messages: an http(s) text loses its query and its user information; any other, whose `?` belongs to the key,
/// loses what follows the `?` where that looks like a SAS.
inline std::string without_credentials(std::string_view text) {
  constexpr std::string_view http = "http";
  bool web = text.size() > http.size();
  for (std::size_t i = 0; web && i < http.size(); ++i) web = (text[i] | 0x20) == http[i];
  if (auto const query = text.find('?'); query != text.npos && (web || text.find("sig=", query) != text.npos))
    text = text.substr(0, query);
  std::string shown{text};
  if (auto const slashes = text.find("://"); web && slashes != text.npos)
    if (auto const at = text.substr(0, text.find('/', slashes + 3)).rfind('@'); at != text.npos && at > slashes)
      shown.erase(slashes + 3, at - slashes - 2);
  return shown;
}
}  // namespace detail

/// Where a checkpoint is: `az://container/path`, `https://...`, `memory://name`, `file:///path` or a plain path.
///
/// A URI is not a path: what needs a directory takes a `local_snapshot`. The text is kept as given; a `%` in a key is a
/// `%`. The query may hold a credential (a SAS), so only `shown()` belongs into messages.
class uri {
 public:
  /// @errors usage: empty, or a control character inside
  static result<uri> parse(std::string_view text) {
    if (text.empty())
      return error{error_kind::usage, "expected a URI such as az://container/model or a folder, found an empty text"};
    for (char c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        return error{error_kind::usage,
                     "expected a URI without control characters; remove the line break or NUL from it"};
    uri u;
    u.text_ = text;
    if (auto const i = text.find("://"); i != text.npos && i > 0) {
      u.scheme_ = text.substr(0, i);
      for (char& c : u.scheme_)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      u.rest_ = i + 3;
    }
    return u;
  }

  /// Lower case; empty for a plain path.
  [[nodiscard]] std::string_view scheme() const& noexcept { return scheme_; }
  /// What follows `://`, or the whole of a plain path.
  [[nodiscard]] std::string_view rest() const& noexcept { return std::string_view{text_}.substr(rest_); }
  /// The whole text, query included: never to be shown.
  [[nodiscard]] std::string const& text() const& noexcept { return text_; }
  void scheme() const&& = delete;  // guard: uri_scheme_of_a_temporary
  void rest() const&& = delete;    // guard: uri_rest_of_a_temporary
  void text() const&& = delete;    // guard: uri_text_of_a_temporary
  /// The text for messages, without what may be a credential. Only http(s) texts have a query; elsewhere `?` belongs to
  /// the key, and stays unless a `sig=` follows it.
  [[nodiscard]] std::string shown() const { return detail::without_credentials(text_); }

 private:
  uri() = default;
  std::string text_, scheme_;
  std::size_t rest_ = 0;
};
PENSTOCK_END
