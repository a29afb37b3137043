#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/model/open.hpp>
#include <penstock/pipeline/compare_stored.hpp>
#include <penstock/pipeline/executor.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/plan/make_plan.hpp>
#include <penstock/plan/same_parameters.hpp>

PENSTOCK_BEGIN
template <class Policies>
class pipeline;

/// How a plan is made, beside model and topology.
struct plan_request {
  std::string arch{};                   ///< a name of the `arch` policy; empty: by config.json
  std::string draft{};                  ///< another name: a draft model that is planned together with it
  std::string quant{};                  ///< a name of the `quant` policy; empty: by config.json
  bytes memory_limit = mebibytes(512);  ///< of this rank
  bytes slot{};                         ///< 0: chosen to fit
  unsigned lanes = 0;                   ///< threads; 0: what the storage likes
  bool rotate = true;                   ///< ranks begin with different files; false: all with the first layers
};

/// A plan together with the pinned objects that it reads: all that a load needs. Only `pipeline::plan` makes one.
template <class Object>
struct pinned_plan : plan {
 private:  // guard: plan_comes_from_a_checked_map
  template <class Policies>
  friend class pipeline;
  pinned_plan(plan p, std::shared_ptr<std::vector<Object> const> pinned, topology const& at, plan_request request)
      : plan(std::move(p)), pinned_(std::move(pinned)), at_(at), request_(std::move(request)) {}

  std::shared_ptr<std::vector<Object> const> pinned_;
  topology at_;  // it and the request: to be planned again
  plan_request request_;
};

/// The loader: storage, ownership, quant schemes and weight map composed into one type.
///
/// @tparam Policies  one struct that names every choice; derive it from `penstock::defaults`
/// @threads  open: one call at a time; plan and load: any number at once, one load a plan and sink (ranks are threads)
template <class Policies>
class pipeline {
  // guard-begin: pipeline_fits
  static_assert(detail::check_policies<Policies>::fit(),
                "penstock: these policies do not make a pipeline; the sentence above says which one and why");
  // guard-end: pipeline_fits

 public:
  using storage_type = typename Policies::storage;
  using device_type = typename Policies::device;
  using ownership_type = typename Policies::ownership;
  using model_type = model<storage_type>;
  using plan_type = pinned_plan<typename storage_type::object>;
  using stream_type = typename device_type::stream;
  using trace_type = typename detail::trace_of<Policies>::type;

  explicit pipeline(storage_type s = storage_type{}, device_type d = device_type{}, trace_type t = trace_type{})
      : storage_(std::move(s)), device_(std::move(d)), trace_(std::move(t)) {}

  /// The maps that `plan` chooses from.
  [[nodiscard]] static constexpr std::span<map_choice const> maps() noexcept {
    return maps_of<typename Policies::arch, typename Policies::quant>();
  }
  [[nodiscard]] storage_type& storage() & noexcept { return storage_; }

  /// Pins the checkpoint at `where` and resolves its config, tokenizer and processor files. Reads no tensor bytes.
  /// @errors usage, not_found, access, format, config, io, transient, changed
  [[nodiscard]] result<model_type> open(uri const& where, open_options const& options = {}) {
    return open_model(storage_, where, options);
  }
  [[nodiscard]] result<model_type> open(std::string_view where, open_options const& options = {}) {
    auto u = uri::parse(where);
    if (!u) return std::move(u).error();
    return open(*u, options);
  }

  /// Only the config, tokenizer and processor files, for who needs no weights. @errors as open
  [[nodiscard]] result<local_snapshot> snapshot(std::string_view where, open_options const& options = {}) {
    auto u = uri::parse(where);
    if (!u) return std::move(u).error();
    return open_snapshot(storage_, *u, options);
  }

  /// What one rank reads and keeps: a value; no I/O. Its `parameters` are what the engine allocates.
  /// @errors usage, config, plan
  [[nodiscard]] result<plan_type> plan(model_type const& m, topology const& at = {},
                                       plan_request const& request = {}) const {
    auto map = choose_map(maps(), m.config, request.arch);
    if (!map) return error{map.error().kind(), m.weights.uri + ": " + map.error().message(), {.uri = m.weights.uri}};
    plan_options o;
    o.quant = request.quant, o.memory_limit = request.memory_limit, o.slot = request.slot, o.lanes = request.lanes,
    o.rotate = request.rotate, o.storage = traits_of(storage_);
    std::vector<map_view> all{*map};
    if (!request.draft.empty()) {
      auto draft = choose_map(maps(), m.config, request.draft);
      if (!draft) return std::move(draft).error();
      all.push_back(*draft);
    }
    auto p = make_plan(m.weights, m.config, all, at, o);
    if (!p) return std::move(p).error();
    return plan_type{*std::move(p), m.objects, at, request};
  }
  /// The plan of new weights for the parameters of an earlier one: same topology and request.
  /// @errors as plan; plan: a parameter of another name, dtype or shape
  [[nodiscard]] result<plan_type> plan_again(plan_type const& before, model_type const& now) const {
    auto p = plan(now, before.at_, before.request_);
    if (!p) return p;
    if (auto same = same_parameters(before, *p); !same) return std::move(same).error();
    return p;
  }

  /// Reads what the checkpoint stores twice or only describes, which no load needs, and compares it: a tied head that is
  /// stored all the same, the sizes of packed linears. Of `request` only arch and quant count.
  /// @errors as plan; config: something differs; and those of the storage
  [[nodiscard]] result<comparison> check(model_type const& m, plan_request const& request = {},
                                         std::stop_token stop = {}) {
    auto const map = choose_map(maps(), m.config, request.arch);
    if (!map) return map.error();
    auto const again = find_stored_again(m.weights, m.config, *map, request.quant);
    if (!again) return again.error();
    return compare_stored(storage_, std::span{std::as_const(*m.objects)}, m.weights, *again, std::move(stop));
  }

  /// Runs a plan: returns when every parameter is complete, or with the first error after everything is quiet.
  ///
  /// @param sink  place: has `placement destination(parameter const&)`.
  ///              own<M>: called as `sink(parameter const&, owned_tensor<M>)`.
  ///              borrow: has `void piece(parameter const&, landed_piece const&, borrowed_tensor const&, lease<stream>&)`, or
  ///              is called as `sink(parameter const&, landed_piece const&, borrowed_tensor const&)`.
  /// @errors plan, memory, io, format, changed, transient, access, not_found, cancelled
  template <class Sink>
  result<report> load(plan_type const& p, Sink&& sink, load_options const& options = {}) {
    using S = std::remove_reference_t<Sink>;
    if constexpr (std::is_same_v<ownership_type, ownership::place>) {
      // guard-begin: place_needs_destinations
      static_assert(
          placing_sink<S>,
          "penstock: ownership::place needs a sink with `placement destination(parameter const&)`: where each parameter is to be written");
      // guard-end: place_needs_destinations
      if constexpr (placing_sink<S>) return run(p, sink, options);
    } else if constexpr (std::is_same_v<ownership_type, ownership::borrow>) {
      constexpr bool looks = borrowing_sink<S, stream_type>;
      constexpr bool called = std::is_invocable_v<S&, parameter const&, landed_piece const&, borrowed_tensor const&>;
      // guard-begin: borrow_needs_loans
      static_assert(
          looks || called,
          "penstock: ownership::borrow needs a sink that takes `(parameter const&, landed_piece const&, borrowed_tensor const&)`: a loan goes by const reference");
      // guard-end: borrow_needs_loans
      if constexpr (looks) {
        return run(p, sink, options);
      } else if constexpr (called) {
        // guard-begin: borrow_returns_no_loan
        static_assert(
            may_leave_a_lease<std::invoke_result_t<S&, parameter const&, landed_piece const&, borrowed_tensor const&>>,
            "penstock: what this sink returns could carry the loan out of its lease: return void");
        // guard-end: borrow_returns_no_loan
        called_sink<S> by_call{sink};
        return run(p, by_call, options);
      }
    } else {
      using M = typename ownership_type::memory_type;
      constexpr bool called = std::is_invocable_v<S&, parameter const&, owned_tensor<M>>;
      // guard-begin: own_needs_a_callable
      static_assert(
          called,
          "penstock: ownership::own<Memory> needs a sink that is called as `sink(parameter const&, owned_tensor<Memory>)`");
      // guard-end: own_needs_a_callable
      if constexpr (called) {
        auto take = [&sink](parameter const& q, owned_tensor<M> t) { sink(q, std::move(t)); };
        own_sink<M, decltype(take)> owning{p, take};
        return run(p, owning, options);
      }
    }
  }

  /// New weights into the addresses of an earlier load: plans `now` as `before` was planned, and loads it. Where a
  /// parameter differs, that is an error before the sink is asked or a byte is read.
  /// @errors as plan_again and load
  template <class Sink>
  result<report> reload(plan_type const& before, model_type const& now, Sink&& sink, load_options const& options = {}) {
    auto const again = plan_again(before, now);
    if (!again) return again.error();
    return load(*again, std::forward<Sink>(sink), options);
  }

 private:
  template <class F>
  struct called_sink {
    F& call;
    void piece(parameter const& p, landed_piece const& w, borrowed_tensor const& t, lease<stream_type>&) {
      call(p, w, t);
    }
  };
  template <class Sink>
  result<report> run(plan_type const& p, Sink& sink, load_options const& options) {
    executor<storage_type, device_type, typename Policies::exchange, trace_type> run_plan{storage_, device_, trace_};
    return run_plan.load(p, *p.pinned_, sink, options);
  }

  storage_type storage_;
  device_type device_;
  [[no_unique_address]] trace_type trace_;
};
PENSTOCK_END
