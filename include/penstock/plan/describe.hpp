#pragma once
#include <string>

#include <penstock/core/hash.hpp>
#include <penstock/core/json_writer.hpp>
#include <penstock/plan/plan.hpp>

PENSTOCK_BEGIN
/// As the member priced_seconds of the object that is being written to `text`.
inline void add_price(detail::json_object& o, std::string& text, plan_price const& price) {
  o.key("priced_seconds");
  detail::json_object stages(text);
  stages.add("read", price.read), stages.add("copy", price.copy);
}

/// What a plan foresees, as one JSON object: the names that a load's report has, and plan_seconds, copies, input_hash.
inline std::string to_json(plan const& p) {
  std::string text;
  {
    detail::json_object o(text);
    o.add("rank", p.rank);
    o.add("bytes_needed", p.needed);
    o.add("bytes_read", p.read);
    o.add("bytes_discarded", p.discarded);
    o.add("bytes_exchanged", bytes{});
    o.add("requests", p.requests);
    o.add("tensors", p.tensors);
    o.add("parameters", u64{p.parameters.size()});
    o.add("copies", u64{p.copies.size()});
    o.add("peak_host_bytes", p.memory.total());
    o.add("peak_retained_bytes", p.memory.kept);
    o.add("lanes", p.memory.lanes);
    o.add("slots", p.memory.slots);
    o.add("slot_bytes", p.memory.slot);
    o.add("depth", p.memory.depth);
    o.add("plan_seconds", p.seconds);
    add_price(o, text, p.price);
    o.add("input_hash", detail::hex_of(p.input_hash));
  }
  return text;
}

/// One read of a plan as one JSON object on one line: where it comes from and where each box of it goes. Bytes.
inline std::string to_json(plan const& p, plan_read const& r) {
  std::string text;
  {
    detail::json_object o(text);
    o.add("rank", p.rank);
    if (r.object == no_object) o.key("object") += "null";
    else o.add("object", p.objects[index_of(r.object)]);
    o.add("first", r.first), o.add("bytes", r.size);
    o.key("copies") += '[';
    for (u32 i = r.copies; i < r.copies_end; ++i) {
      auto const& c = p.copies[i];
      if (i != r.copies) text += ',';
      detail::json_object box(text);
      box.add("parameter", p.parameters[c.to].name);
      box.add("from", c.from), box.add("width", c.width), box.add("rows", c.rows), box.add("from_pitch", c.from_pitch);
      box.add("at", c.at), box.add("at_pitch", c.at_pitch);
    }
    text += ']';
  }
  return text;
}
PENSTOCK_END
