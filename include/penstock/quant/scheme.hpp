#pragma once
#include <array>
#include <concepts>
#include <string>
#include <string_view>

#include <penstock/core/dtype.hpp>
#include <penstock/quant/dim.hpp>
#include <penstock/tensor/stored_rows.hpp>

PENSTOCK_BEGIN
struct quant_declaration;  // format/quant_declaration.hpp

namespace quant {
/// One stored axis of a part: which logical axis of the linear [N, K] it runs along, and how many logical elements one
/// stored element covers.
struct axis {
  enum along : u8 { none, out_features, in_features, one } of = none;
  dim per = 1;
  bool ragged = false;  ///< may the last unit be incomplete (block scales), or must the unit divide (packed words)?
};
inline constexpr axis out{axis::out_features, 1, false};  ///< N
inline constexpr axis in{axis::in_features, 1, false};    ///< K
inline constexpr axis unit{axis::one, 1, false};          ///< an extent of one

/// `in / 8`: one stored element covers eight of K.
constexpr axis operator/(axis a, dim per) { return a.per = per, a; }
/// `up(out, block)`: one stored element covers `block` of N, the last one perhaps fewer.
constexpr axis up(axis a, dim per) { return a.per = per, a.ragged = true, a; }

/// One tensor that a scheme stores for a linear whose logical shape is [N, K].
struct part {
  enum role : u8 {
    payload,    ///< copied bit for bit
    scale,      ///< cut with the payload, in units of its axes
    per_piece,  ///< one number; a fused parameter holds one for each piece
    note,       ///< known, never a parameter
  };
  std::string_view suffix;  ///< in the file, e.g. ".weight"; the parameter is called the same
  dtype type = dtype::any_float;
  std::array<axis, 2> axes{};  ///< in stored order
  role what = payload;
  bool optional = false;
  u64 inner = 1;  ///< stored elements for one unit of the last axis, a dimension more in the file; a note has so many
  std::string_view called{};  ///< the parameter's suffix, where it is not the file's

  constexpr part may_be_absent() const {
    auto p = *this;
    return p.optional = true, p;
  }
  /// `count` stored elements stand for one unit of the last axis. In the file they are a dimension of their own.
  constexpr part times(u64 count) const {
    auto p = *this;
    return p.inner = count, p;
  }
  /// The parameter's suffix, where it is not the file's.
  constexpr part as(std::string_view parameter_suffix) const {
    auto p = *this;
    return p.called = parameter_suffix, p;
  }
};
constexpr part payload(std::string_view suffix, dtype t, axis first, axis second) {
  return {suffix, t, {first, second}, part::payload, false, 1, {}};
}
constexpr part scale(std::string_view suffix, dtype t, axis first, axis second = {}) {
  return {suffix, t, {first, second}, part::scale, false, 1, {}};
}
constexpr part scalar(std::string_view suffix, dtype t) { return {suffix, t, {}, part::per_piece, false, 1, {}}; }
/// `count` integers: where it is of type I32, I64 will do too.
constexpr part note(std::string_view suffix, dtype t, u64 count = 1) {
  return {suffix, t, {}, part::note, false, count, {}};
}

/// The parts of a linear, in a scheme's own words: `linear_is(payload(...), scale(...))`.
template <std::size_t Count>
struct parts {
  std::array<part, Count> list;
};
template <class... Part>
constexpr parts<sizeof...(Part)> linear_is(Part... p) {
  return {{p...}};
}

/// The bias of a linear is a part of every scheme: [N], as the file has it.
inline constexpr part bias{".bias", dtype::any_float, {out, axis{}}, part::payload, false, 1, {}};
}  // namespace quant

/// How a linear's weight is stored. Nothing in it names an architecture.
///
///   Q::name      for options and messages
///   Q::linear    `linear_is(payload(...), scale(...), ...)`
///   bool Q::declared(quant_declaration const&)   (optional) is this what a config declares? else: is its method Q::name?
///   std::string Q::unreadable(quant_declaration const&)   (optional) what of a declaration of its kind it does not read:
///                "expected X, found Y"; empty: nothing
///   void Q::dequantise(stored_rows const&, float*)   (optional) gives plain numbers
template <class Q>
concept quant_scheme = requires {
  { Q::name } -> std::convertible_to<std::string_view>;
  Q::linear.list.size();
  { Q::linear.list[0] } -> std::convertible_to<quant::part>;
};

/// Can this scheme give back plain numbers?
template <class Q>
concept dequantises = requires(stored_rows const& rows, float* to) {
  { Q::dequantise(rows, to) } -> std::same_as<void>;
};

/// A scheme as a plain value.
struct scheme_view {
  std::string_view name;
  quant::part const* parts = nullptr;
  std::size_t count = 0;
  bool (*declared)(quant_declaration const&) = nullptr;           ///< null: by its name
  dequantise_rows* dequantise = nullptr;                          ///< null: it cannot
  std::string (*unreadable)(quant_declaration const&) = nullptr;  ///< null: it reads all that it declares
};

namespace detail {
template <class Q>
constexpr scheme_view make_scheme_view() {
  scheme_view v{Q::name, Q::linear.list.data(), Q::linear.list.size(), nullptr, nullptr, nullptr};
  if constexpr (requires(quant_declaration const& d) { Q::declared(d); }) v.declared = &Q::declared;
  if constexpr (requires(quant_declaration const& d) { Q::unreadable(d); }) v.unreadable = &Q::unreadable;
  if constexpr (dequantises<Q>) v.dequantise = &Q::dequantise;
  return v;
}
}  // namespace detail
template <quant_scheme Q>
inline constexpr scheme_view view_of_scheme = detail::make_scheme_view<Q>();
PENSTOCK_END
