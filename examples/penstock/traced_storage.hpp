#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <penstock/core/json_writer.hpp>
#include <penstock/storage/any_of.hpp>

#include "trace.hpp"

/// A storage that records when each read of another one begins and ends: a policy around a policy.
///
/// @tparam Inner  any storage_backend; without a trace set, calls pass straight through
template <penstock::storage_backend Inner>
class traced_storage {
 public:
  using object = typename Inner::object;

  class lane {
   public:
    lane(std::unique_ptr<typename Inner::lane> inner, trace* to, unsigned index)
        : inner_(std::move(inner)), trace_(to), index_(index) {}

    unsigned depth() { return static_cast<unsigned>(inner_->depth()); }
    void submit(penstock::read_request<object> const& r) {
      if (trace_) {
        if (begun_.size() <= r.tag) begun_.resize(r.tag + 1);
        begun_[r.tag] = {trace::clock::now(), r.range};
      }
      inner_->submit(r);
    }
    std::size_t wait(std::span<penstock::completion> out, std::chrono::microseconds most) {
      auto const n = inner_->wait(out, most);
      if (trace_)
        for (std::size_t i = 0; i < n; ++i) record(out[i]);
      return n;
    }
    void wake() noexcept { inner_->wake(); }
    void cancel() noexcept { inner_->cancel(); }
    penstock::bytes transport_bytes() { return inner_->transport_bytes(); }

   private:
    struct begun {
      trace::clock::time_point at{};
      penstock::byte_range range{};
    };
    void record(penstock::completion const& c) {
      auto const& b = begun_[c.tag];
      std::string arguments;
      {
        penstock::detail::json_object o(arguments);
        o.add("first", b.range.first), o.add("bytes", b.range.size), o.add("retries", c.retries);
      }
      // Rows of 64: reads of one lane overlap, one row for each place in its queue.
      trace_->span(c.failed ? "failed read" : "read", 0, (index_ + 1) * 64 + c.tag % 64, b.at, trace::clock::now(),
                   std::move(arguments));
    }
    std::unique_ptr<typename Inner::lane> inner_;
    trace* trace_;
    unsigned index_;
    std::vector<begun> begun_;
  };

  void record_to(trace& t) noexcept { trace_ = &t; }

  auto pin(penstock::uri const& root, std::span<std::string const> names, std::stop_token const& stop = {}) {
    return penstock::pin_objects(inner_, root, names, stop);
  }
  auto list(penstock::uri const& root, std::stop_token const& stop = {}) {
    return penstock::list_objects(inner_, root, stop);
  }
  auto directory_of(penstock::uri const& root) { return penstock::directory_of(inner_, root); }
  penstock::storage_traits traits() const { return penstock::traits_of(inner_); }
  penstock::result<std::unique_ptr<lane>> open_lane(std::span<object const> objects, unsigned index, unsigned depth) {
    auto opened = inner_.open_lane(objects, index, depth);
    if (!opened) return std::move(opened).error();
    return std::make_unique<lane>(*std::move(opened), trace_, index);
  }

 private:
  Inner inner_;
  trace* trace_ = nullptr;
};
