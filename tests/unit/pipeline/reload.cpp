#include <penstock/arch/as_stored.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/storage/memory.hpp>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <map>

#include "../model/small_model.hpp"

using namespace penstock;

namespace {
struct policies : defaults {
  using storage = penstock::storage::memory;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::as_stored;
};

/// An engine that allocates a parameter when it is first asked, and answers with the same address ever after.
struct engine {
  std::map<std::string, std::vector<std::byte>> memory{};
  unsigned asked = 0, announced = 0;
  placement destination(parameter const& p) {
    ++asked;
    auto& at = memory[p.name];
    if (at.empty()) at.resize(p.size.count);
    return {.at = at.data(), .row_pitch = {}, .expert_stride = {}};
  }
  void ready(parameter const&) { ++announced; }
  std::string text(std::string const& name) const {
    auto const& at = memory.at(name);
    std::string s(at.size(), ' ');
    std::memcpy(s.data(), at.data(), at.size());
    return s;
  }
};

std::string file_of(std::string const& dtype, unsigned elements, char fill) {
  auto const n = std::to_string(2 * elements);
  return fixture::st(R"({"w":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(elements) +
                         R"(],"data_offsets":[0,)" + n + "]}}",
                     std::string(2 * elements, fill));
}
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_reload)

BOOST_AUTO_TEST_CASE(new_weights_come_into_the_same_addresses) {
  storage::memory store;
  store.add("m/model.safetensors", file_of("BF16", 500, 'a'));
  pipeline<policies> loader{store};
  auto const old = loader.open("memory://m").value();
  auto const plan = loader.plan(old).value();
  engine e;
  BOOST_REQUIRE(loader.load(plan, e));
  auto const* const address = e.memory["w"].data();
  BOOST_TEST(e.text("w") == std::string(1000, 'a'));

  store.add("m/model.safetensors", file_of("BF16", 500, 'b'));
  BOOST_TEST((loader.load(plan, e).error().kind() == error_kind::changed));  // the old plan is of the old version
  auto const now = loader.open("memory://m").value();
  BOOST_REQUIRE(loader.reload(plan, now, e));
  BOOST_TEST((e.memory["w"].data() == address));
  BOOST_TEST(e.text("w") == std::string(1000, 'b'));
  BOOST_REQUIRE(loader.reload(plan, now, e));  // and again
  BOOST_TEST(e.announced == 3u);
}

BOOST_AUTO_TEST_CASE(parameters_that_differ_end_it_before_the_sink_is_asked) {
  storage::memory store;
  store.add("m/model.safetensors", file_of("BF16", 500, 'a'));
  pipeline<policies> loader{store};
  auto const plan = loader.plan(loader.open("memory://m").value()).value();
  engine e;
  BOOST_REQUIRE(loader.load(plan, e));
  auto const asked = e.asked;
  auto const other_name = [](std::string text) { return text.replace(text.find("\"w\""), 3, "\"v\""); };
  for (auto const& file :
       {file_of("F16", 500, 'b'), file_of("BF16", 501, 'b'), other_name(file_of("BF16", 500, 'b'))}) {
    store.add("m/model.safetensors", file);
    auto const now = loader.open("memory://m").value();
    auto const done = loader.reload(plan, now, e);
    BOOST_TEST_REQUIRE(!done);
    BOOST_TEST((done.error().kind() == error_kind::plan));
    BOOST_TEST(done.error().message().find("\"w\" BF16 [500]") != std::string::npos, done.error().message());
  }
  BOOST_TEST(e.asked == asked);
  BOOST_TEST(e.text("w") == std::string(1000, 'a'));
}
BOOST_AUTO_TEST_SUITE_END()
