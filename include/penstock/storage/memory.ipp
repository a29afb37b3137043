#pragma once
#include <cstring>
#include <map>
#include <mutex>

#include <penstock/storage/memory.hpp>
#include <penstock/storage/name.hpp>

PENSTOCK_BEGIN
namespace storage {
struct memory::entry {
  std::vector<std::byte> content;
  u64 number;  // of its `add`
};

struct memory::table {
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<entry const>, std::less<>> entries;
  u64 added = 0;

  static std::string prefix_of(uri const& root) {
    std::string prefix{root.rest()};
    while (!prefix.empty() && prefix.back() == '/') prefix.pop_back();
    return prefix.empty() ? prefix : prefix + "/";
  }
  bool holds(std::string const& key, std::shared_ptr<entry const> const& wanted) const {
    std::lock_guard const lock{mutex};
    auto const found = entries.find(key);
    return found != entries.end() && found->second == wanted;
  }
};

PENSTOCK_INLINE bytes memory::object::size() const noexcept { return bytes{seen_->content.size()}; }
PENSTOCK_INLINE std::string memory::object::version() const { return "object " + std::to_string(seen_->number); }

PENSTOCK_INLINE memory::memory() : all_(std::make_shared<table>()) {}

PENSTOCK_INLINE void memory::add(std::string name, std::vector<std::byte> content) {
  std::lock_guard const lock{all_->mutex};
  auto made = std::make_shared<entry const>(entry{std::move(content), ++all_->added});
  all_->entries[std::move(name)] = std::move(made);
}

PENSTOCK_INLINE void memory::add(std::string name, std::string_view content) {
  auto const bytes_of = std::as_bytes(std::span{content});
  add(std::move(name), std::vector<std::byte>(bytes_of.begin(), bytes_of.end()));
}

PENSTOCK_INLINE void memory::remove(std::string const& name) {
  std::lock_guard const lock{all_->mutex};
  all_->entries.erase(name);
}

PENSTOCK_INLINE result<std::vector<memory::object>> memory::pin(uri const& root,
                                                                std::span<std::string const> names) const {
  auto const prefix = table::prefix_of(root);
  std::string missing;
  std::vector<object> pinned;
  for (auto const& name : names) {
    if (auto const fault = detail::fault_of_name(name); !fault.empty())
      return error{error_kind::config,
                   "expected an object below " + root.shown() + ", found the name " + detail::shown_name(name) + ": " +
                       std::string{fault},
                   {.uri = root.shown()}};
    std::lock_guard const lock{all_->mutex};
    auto const found = all_->entries.find(prefix + name);
    if (found != all_->entries.end()) pinned.push_back(object{all_, found->second, found->first});
    else missing += (missing.empty() ? "" : ", ") + name;
  }
  if (!missing.empty())
    return error{error_kind::not_found,
                 "not in " + root.shown() + ": " + missing + "; add them before the model is opened",
                 {.uri = root.shown()}};
  return pinned;
}

PENSTOCK_INLINE result<std::vector<stored_object>> memory::list(uri const& root) const {
  auto const prefix = table::prefix_of(root);
  std::vector<stored_object> found;
  std::lock_guard const lock{all_->mutex};
  for (auto at = all_->entries.lower_bound(prefix); at != all_->entries.end(); ++at) {
    if (!at->first.starts_with(prefix)) break;
    found.push_back({at->first.substr(prefix.size()), bytes{at->second->content.size()}});
  }
  if (found.empty())
    return error{error_kind::not_found,
                 "nothing is stored below " + root.shown() + "; add the objects before the model is opened",
                 {.uri = root.shown()}};
  return found;
}

PENSTOCK_INLINE result<void> memory::reader::operator()(read_request<object> const& r) const {
  auto const& from = *r.from;
  auto const shown = "memory://" + from.key_;
  if (auto fine = detail::check_request(r, shown); !fine) return fine;
  if (!from.all_->holds(from.key_, from.seen_))
    return error{error_kind::changed,
                 shown + " was replaced or removed after it was pinned; open the model again",
                 {.uri = shown, .range = r.range}};
  auto const* at = from.seen_->content.data() + r.range.first.count;
  for (auto const& s : r.to) {
    if (s.bytes) std::memcpy(s.to, at, s.bytes);
    at += s.bytes;
  }
  return {};
}
}  // namespace storage
PENSTOCK_END
