#include "trace.hpp"

#include <penstock/core/json_writer.hpp>

#include "output.hpp"

using namespace penstock;

void trace::add(std::string event) {
  std::lock_guard const lock(m_);
  events_.push_back(std::move(event));
}

void trace::span(std::string name, unsigned process, unsigned row, clock::time_point from, clock::time_point to,
                 std::string arguments) {
  std::string e;
  {
    penstock::detail::json_object o(e);
    o.add("name", name), o.add("ph", "X"), o.add("pid", u32{process}), o.add("tid", u32{row});
    o.add("ts", since_start(from)), o.add("dur", since_start(to) - since_start(from));
    if (!arguments.empty()) o.key("args") += arguments;
  }
  add(std::move(e));
}

void trace::mark(std::string name, unsigned process, unsigned row) {
  std::string e;
  {
    penstock::detail::json_object o(e);
    o.add("name", name), o.add("ph", "i"), o.add("s", "p"), o.add("pid", u32{process}), o.add("tid", u32{row});
    o.add("ts", since_start(clock::now()));
  }
  add(std::move(e));
}

result<void> trace::write(std::string const& path) const {
  auto f = output_file::create(path);
  if (!f) return std::move(f).error();
  f->write_line("{\"traceEvents\":[");
  for (std::size_t i = 0; i < events_.size(); ++i) f->write_line(events_[i] + (i + 1 < events_.size() ? "," : ""));
  f->write_line("],\"displayTimeUnit\":\"ms\"}");
  return f->commit();
}
