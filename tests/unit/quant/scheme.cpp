#include <boost/test/unit_test.hpp>
#include <string_view>

#include <penstock/quant/none.hpp>
#include <penstock/quant/scheme.hpp>

using namespace penstock;
using namespace penstock::quant;

namespace {
constexpr dim block{"quantization_config.weight_block_size"};

struct blocks {
  static constexpr std::string_view name = "blocks";
  static constexpr auto linear = linear_is(payload(".weight", dtype::f8_e4m3, out, in),
                                           scale(".weight_scale_inv", dtype::f32, up(out, block), up(in, block)));
  static void dequantise(stored_rows const&, float*) {}
  static bool declared(quant_declaration const&) { return true; }
};
struct of_bytes : blocks {
  static void dequantise(stored_rows const&, std::byte*) {}
};
struct packed : none {
  struct dequantise {};
};
struct nameless {
  static constexpr auto linear = blocks::linear;
};
struct wordless {
  static constexpr std::string_view name = "wordless";
};
}  // namespace

BOOST_AUTO_TEST_SUITE(quant_scheme)

BOOST_AUTO_TEST_CASE(an_axis_over_a_unit_must_divide_and_one_rounded_up_need_not) {
  constexpr auto words = in / 8, rounded = up(out, block);
  BOOST_TEST((words.of == axis::in_features && words.per == dim{8} && !words.ragged));
  BOOST_TEST((rounded.of == axis::out_features && rounded.per == block && rounded.ragged));
  BOOST_TEST((in.per == dim{1} && !in.ragged && out.per == dim{1} && unit.of == axis::one));
}

BOOST_AUTO_TEST_CASE(parts_are_told_apart_by_what_they_are_for) {
  constexpr auto p = payload(".q", dtype::int32, in / 8, out);
  BOOST_TEST((p.what == part::payload && p.axes[0].of == axis::in_features && p.axes[1].of == axis::out_features));
  constexpr auto s = scale(".s", dtype::f16, out);
  BOOST_TEST((s.what == part::scale && s.axes[0].of == axis::out_features && s.axes[1].of == axis::none));
  BOOST_TEST((scalar(".g", dtype::f32).what == part::per_piece && scalar(".g", dtype::f32).axes[0].of == axis::none));
  BOOST_TEST((note(".shape", dtype::int32).what == part::note));
}

BOOST_AUTO_TEST_CASE(an_optional_part_is_another_part) {
  constexpr auto needed = scale(".zeros", dtype::int32, out);
  constexpr auto optional = needed.may_be_absent();
  BOOST_TEST(
      (!needed.optional && optional.optional && optional.suffix == needed.suffix && optional.what == needed.what));
}

BOOST_AUTO_TEST_CASE(the_bias_runs_along_the_rows_of_every_linear) {
  BOOST_TEST((bias.suffix == ".bias" && bias.axes[0].of == axis::out_features && bias.axes[1].of == axis::none));
  BOOST_TEST((bias.what == part::payload && bias.type == dtype::any_float));
}

BOOST_AUTO_TEST_CASE(a_scheme_has_a_name_and_says_how_a_linear_is_stored) {
  static_assert(penstock::quant_scheme<none> && penstock::quant_scheme<blocks>);
  static_assert(!penstock::quant_scheme<nameless> && !penstock::quant_scheme<wordless> && !penstock::quant_scheme<int>);
  BOOST_TEST(blocks::linear.list.size() == 2u);
  BOOST_TEST(nameless::linear.list.size() == 2u);  // only a name is missing
  BOOST_TEST(blocks::linear.list[1].suffix == ".weight_scale_inv");
}

BOOST_AUTO_TEST_CASE(only_a_scheme_that_turns_stored_rows_into_floats_gives_plain_numbers) {
  static_assert(dequantises<none> && dequantises<blocks>);
  static_assert(!dequantises<of_bytes> && !dequantises<packed> && !dequantises<nameless>);
  BOOST_TEST(dequantises<blocks>);
}

BOOST_AUTO_TEST_CASE(a_scheme_can_be_seen_as_a_plain_value) {
  constexpr auto v = view_of_scheme<blocks>;
  BOOST_TEST(v.name == "blocks");
  BOOST_TEST(v.count == 2u);
  BOOST_TEST(v.parts == blocks::linear.list.data());
  BOOST_TEST((v.declared == &blocks::declared && v.dequantise == &blocks::dequantise));
  constexpr auto plain = view_of_scheme<none>;
  BOOST_TEST((plain.declared == nullptr && plain.dequantise == &none::dequantise));
}

BOOST_AUTO_TEST_SUITE_END()
