#pragma once
#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
/// The folder that a root is, where a store's objects are files; nothing elsewhere.
///
/// A backend says so by `result<std::string> directory_of(uri const&)`, or for some roots only by
/// `result<std::optional<std::string>> directory_of(uri const&)`.
template <class S>
result<std::optional<std::string>> directory_of(S& store, uri const& root) {
  if constexpr (requires { store.directory_of(root); }) {
    auto found = store.directory_of(root);
    if (!found) return std::move(found).error();
    return std::optional<std::string>{*std::move(found)};
  } else {
    return std::optional<std::string>{};
  }
}

namespace detail {
/// What a backend needs beside the concept to be chosen by a URI.
template <class S>
concept chosen_by_scheme = requires(uri const& u) {
  { S::takes(u) } -> std::same_as<bool>;
  { S::schemes } -> std::convertible_to<std::string_view>;
};
}  // namespace detail

namespace storage {
/// One of several stores, chosen by the URI when the program runs.
///
///   static bool Backend::takes(uri const&)             is this URI its own? The first that says yes is used
///   static constexpr string_view Backend::schemes      what it takes, for messages
///
/// `traits()` are those of the store that `pin` or `list` used last; before that, of the first.
template <class... Backends>
class any_of {
  // guard-begin: any_of_some_storages
  static_assert(sizeof...(Backends) > 0, "penstock: storage::any_of needs at least one storage");
  // guard-end: any_of_some_storages
  // guard-begin: any_of_storages_only
  static_assert((detail::check_storage<Backends>() && ...), "penstock: storage::any_of takes storages only");
  // guard-end: any_of_storages_only
  // guard-begin: any_of_knows_the_schemes
  static_assert((detail::chosen_by_scheme<Backends> && ...),
                "penstock: a storage in storage::any_of lacks `static bool takes(uri const&)` or `schemes`");
  // guard-end: any_of_knows_the_schemes

  template <std::size_t I>
  using store_at = std::tuple_element_t<I, std::tuple<Backends...>>;

  template <class S>
  static constexpr bool is_one_of_ours = (std::same_as<S, Backends> || ...);
  /// That one of the given stores, or one as it is by itself.
  template <class S, class... Given>
  static S picked(Given&... given) {
    if constexpr ((std::same_as<S, Given> || ...)) return std::move(std::get<S&>(std::tie(given...)));
    else return S{};
  }

  /// One of the objects of one `pin`.
  template <class O>
  struct handle {
    std::shared_ptr<std::vector<O> const> all;
    std::size_t at;
    O const& operator*() const noexcept { return (*all)[at]; }
  };

 public:
  /// A pinned object of one of the stores. Copies share it; it lives as long as any object of the same `pin`.
  class object {
   public:
    [[nodiscard]] bytes size() const {
      return std::visit([](auto const& h) { return (*h).size(); }, held_);
    }
    [[nodiscard]] std::string version() const {
      return std::visit([](auto const& h) { return std::string{(*h).version()}; }, held_);
    }

   private:
    friend class any_of;
    template <std::size_t I, class H>
    object(std::in_place_index_t<I> which, H h) : held_(which, std::move(h)) {}
    std::variant<handle<typename Backends::object>...> held_;
  };

  /// The lane of the store that its objects are from.
  class lane {
   public:
    unsigned depth() {
      return std::visit([](auto& l) { return static_cast<unsigned>(l->depth()); }, held_);
    }
    /// The object must be of the `pin` for which the lane was opened.
    void submit(read_request<object> const& r) {
      at_index(held_.index(), [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        auto const* h = std::get_if<I>(&r.from->held_);
        (*std::get_if<I>(&held_))->submit({.from = &**h, .range = r.range, .to = r.to, .tag = r.tag});
      });
    }
    std::size_t wait(std::span<completion> out, std::chrono::microseconds most) {
      return std::visit([&](auto& l) { return static_cast<std::size_t>(l->wait(out, most)); }, held_);
    }
    void wake() noexcept {
      std::visit([](auto& l) { l->wake(); }, held_);
    }
    void cancel() noexcept {
      std::visit([](auto& l) { l->cancel(); }, held_);
    }
    bytes transport_bytes() {
      return std::visit([](auto& l) { return l->transport_bytes(); }, held_);
    }

   private:
    friend class any_of;
    using held_type = std::variant<std::unique_ptr<typename Backends::lane>...>;
    explicit lane(held_type l) : held_(std::move(l)) {}
    held_type held_;
  };

  any_of() = default;
  /// With stores that were set up before, in any order; the others are as they are by themselves.
  template <class... Given>
    requires(sizeof...(Given) > 0 && (is_one_of_ours<Given> && ...))
  explicit any_of(Given... given) : stores_(picked<Backends>(given...)...) {}

  static bool takes(uri const& u) noexcept { return (Backends::takes(u) || ...); }

  /// One of the stores, to set it up. @threads not while it is used
  template <class Backend>
  [[nodiscard]] Backend& get() & noexcept {
    return std::get<Backend>(stores_);
  }

  [[nodiscard]] storage_traits traits() const {
    return at_index(
        used_, [&]<std::size_t I>(std::integral_constant<std::size_t, I>) { return traits_of(std::get<I>(stores_)); });
  }

  /// @errors usage: no store takes this scheme; else those of the store
  result<std::vector<object>> pin(uri const& root, std::span<std::string const> names,
                                  std::stop_token const& stop = {}) {
    return with_store_of<result<std::vector<object>>>(
        root, [&]<std::size_t I>(std::integral_constant<std::size_t, I>) -> result<std::vector<object>> {
          using inner = typename store_at<I>::object;
          auto pinned = pin_objects(std::get<I>(stores_), root, names, stop);
          if (!pinned) return std::move(pinned).error();
          auto const all = std::make_shared<std::vector<inner> const>(*std::move(pinned));
          std::vector<object> objects;
          objects.reserve(all->size());
          for (std::size_t k = 0; k < all->size(); ++k)
            objects.push_back(object{std::in_place_index<I>, handle<inner>{all, k}});
          return objects;
        });
  }

  /// @errors as pin
  result<std::vector<stored_object>> list(uri const& root, std::stop_token const& stop = {}) {
    return with_store_of<result<std::vector<stored_object>>>(
        root, [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
          return list_objects(std::get<I>(stores_), root, stop);
        });
  }

  /// @errors usage: objects of several `pin`s; else those of the store
  result<std::unique_ptr<lane>> open_lane(std::span<object const> objects, unsigned index, unsigned depth) {
    auto const which = objects.empty() ? used_ : objects.front().held_.index();
    return at_index(which, [&]<std::size_t I>(std::integral_constant<std::size_t, I>) -> result<std::unique_ptr<lane>> {
      using inner = typename store_at<I>::object;
      std::span<inner const> all;
      for (auto const& o : objects) {
        auto const* h = std::get_if<I>(&o.held_);
        if (!h || (!all.empty() && h->all->data() != all.data()))
          return error{error_kind::usage, "one lane reads the objects of one `pin`; open the models one by one"};
        all = *h->all;
      }
      auto opened = std::get<I>(stores_).open_lane(all, index, depth);
      if (!opened) return std::move(opened).error();
      return std::unique_ptr<lane>{new lane{typename lane::held_type{std::in_place_index<I>, *std::move(opened)}}};
    });
  }

  /// @errors usage: no store takes this scheme, or its text is broken
  result<std::optional<std::string>> directory_of(uri const& root) {
    return with_store_of<result<std::optional<std::string>>>(
        root, [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
          return penstock::directory_of(std::get<I>(stores_), root);
        });
  }

 private:
  /// Calls `f` with an index that is known only when the program runs.
  template <std::size_t I = 0, class F>
  static auto at_index(std::size_t index, F&& f) {
    if constexpr (I + 1 < sizeof...(Backends))
      if (index != I) return at_index<I + 1>(index, std::forward<F>(f));
    return f(std::integral_constant<std::size_t, I>{});
  }

  template <class R, class F>
  R with_store_of(uri const& root, F&& f) {
    bool const takes[] = {Backends::takes(root)...};
    auto const found =
        static_cast<std::size_t>(std::find(std::begin(takes), std::end(takes), true) - std::begin(takes));
    if (found == sizeof...(Backends)) return unknown(root);
    used_ = found;
    return at_index(found, f);
  }

  static error unknown(uri const& root) {
    std::string known;
    ((known += (known.empty() ? "" : ", ") + std::string{Backends::schemes}), ...);
    return {error_kind::usage,
            "nothing here takes the scheme " + std::string{root.scheme()} + ":// of " + root.shown() +
                "; expected one of: " + known,
            {.uri = root.shown()}};
  }

  std::tuple<Backends...> stores_;
  std::size_t used_ = 0;
};
}  // namespace storage
PENSTOCK_END
