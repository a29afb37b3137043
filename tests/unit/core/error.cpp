#include <boost/test/unit_test.hpp>
#include <exception>
#include <string>

#include <penstock/core/error.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(core_error)

BOOST_AUTO_TEST_CASE(each_kind_has_its_name) {
  constexpr std::string_view names[] = {"usage",     "format",  "config", "plan", "not_found", "access",
                                        "transient", "changed", "memory", "io",   "peer",      "cancelled"};
  unsigned i = 0;
  for (auto const k : {error_kind::usage, error_kind::format, error_kind::config, error_kind::plan,
                       error_kind::not_found, error_kind::access, error_kind::transient, error_kind::changed,
                       error_kind::memory, error_kind::io, error_kind::peer, error_kind::cancelled})
    BOOST_TEST(name_of(k) == names[i++]);
  BOOST_TEST(i == std::size(names));
}

BOOST_AUTO_TEST_CASE(an_error_is_an_exception_that_keeps_its_context) {
  error e{error_kind::transient, "expected an answer", {.uri = "az://c/m", .attempts = 3, .http_status = 503}};
  std::exception const& base = e;
  BOOST_TEST(std::string{base.what()} == "expected an answer");
  BOOST_TEST((e.kind() == error_kind::transient));
  BOOST_TEST(e.where().uri == "az://c/m");
  BOOST_TEST(e.where().attempts == 3u);
  BOOST_TEST(e.where().http_status == 503);
  BOOST_TEST(e.where().rank == -1);
  BOOST_TEST(!e.where().range.has_value());
  e.where().tensor = "w";
  auto const copy = e;
  BOOST_TEST(copy.where().tensor == "w");
  BOOST_TEST(copy.message() == e.message());
}
BOOST_AUTO_TEST_SUITE_END()
