#pragma once
#include <set>

#include <penstock/net/text.hpp>
#include <penstock/storage/http_objects.hpp>

PENSTOCK_BEGIN
namespace storage {
PENSTOCK_INLINE storage_traits traits_over_http(unsigned depth) noexcept {
  storage_traits t;
  t.gap = mebibytes(1);
  t.bandwidth = mebibytes(100);  // of a connection; so a request costs 10 ms
  t.lanes = 1;
  t.depth = depth;
  t.transport_per_read = kibibytes(512 + 16);
  return t;
}

PENSTOCK_INLINE error about(std::string const& shown, error_kind kind, std::string text) {
  error_context where;
  where.uri = shown;
  return error{kind, shown + ": " + std::move(text), std::move(where)};
}

PENSTOCK_INLINE result<std::vector<net::http_object>> all_of(std::string const& shown,
                                                             std::span<std::string const> names,
                                                             std::vector<result<net::http_object>> answers) {
  std::vector<net::http_object> objects;
  std::string missing;
  std::size_t count = 0;
  std::unique_ptr<error> first;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i]) {
      objects.push_back(*std::move(answers[i]));
      continue;
    }
    auto e = std::move(answers[i]).error();
    if (e.kind() != error_kind::not_found) return e;
    missing += (count++ ? ", " : "") + names[i] + (e.where().http_status ? "" : " (" + e.message() + ")");
    if (!first && e.where().http_status) first = std::make_unique<error>(std::move(e));
  }
  if (!count) return objects;
  std::string text = shown + ": expected " + std::to_string(names.size()) +
                     (names.size() == 1 ? " object, missing: " : " objects, missing " + std::to_string(count) + ": ") +
                     missing;
  auto context = first ? first->where() : error_context{};
  if (!context.store_code.empty()) text += " (" + context.store_code + ")";
  context.uri = shown;
  return error{error_kind::not_found, std::move(text) + "; check the path, or upload what is missing",
               std::move(context)};
}

PENSTOCK_INLINE result<net::http_object> pinned_by_etag(net::small_request const& asked, net::response_head const& head,
                                                        char const* store) {
  auto const size = head.content_length();
  if (!size || head.status() != 200)
    return about(asked.shown, error_kind::io,
                 std::string("expected the size of the object, found none; check that the endpoint is ") + store);
  if (auto const coding = head.get("content-encoding"); coding && net::detail::lower(*coding) != "identity")
    return about(asked.shown, error_kind::format,
                 "expected the bytes as they are, found an object stored with Content-Encoding " +
                     std::string(coding->substr(0, 32)) + "; upload it without");
  bool const none = head.etag().empty();
  if (none || head.contradicts_itself("etag"))
    return about(asked.shown, error_kind::io,
                 std::string("expected one ETag, which says the version of the object, found ") +
                     (none ? "none" : "two that differ") + "; read from a server that sends it");
  return net::http_object(asked.url, asked.shown, *size, net::quoted_etag(head.etag()), asked.signer);
}

PENSTOCK_INLINE result<std::vector<stored_object>> list_all(
    std::string const& shown, std::string const& prefix, char const* holder,
    std::function<result<object_page>(std::string const&)> const& page) {
  std::vector<stored_object> files;
  std::set<std::string> seen;
  for (std::string next;;) {
    auto p = page(next);
    if (!p) return std::move(p).error();
    for (auto& f : p->files) {
      if (!f.name.starts_with(prefix)) continue;  // a store that takes the prefix for something else
      f.name.erase(0, prefix.size());
      bool const mark = f.name.empty() || (f.size == bytes{0} && f.name.ends_with('/'));
      if (!mark) files.push_back(std::move(f));
    }
    if (p->next.empty()) break;
    next = std::move(p->next);
    if (!seen.insert(next).second)
      return about(shown, error_kind::io,
                   "expected another page of the listing, found one that was there already; check the endpoint");
  }
  if (files.empty())
    return about(shown, error_kind::not_found,
                 std::string("expected objects below this path, found none; check ") + holder + " and path");
  return files;
}
}  // namespace storage
PENSTOCK_END
