#include <penstock/tensor/lease.hpp>
#include <penstock/tensor/retention.hpp>

#include <array>
#include <boost/test/unit_test.hpp>
#include <tuple>

using namespace penstock;

namespace {
/// A scale of one byte that waits for its weight.
struct scaled {
  using kept = std::tuple<owned_tensor<host_memory>>;
  static void finish(kept& k, borrowed_tensor const& weight, std::byte* out) {
    weight.copy_to(out, bytes{}, weight.size());
    for (u64 i = 0; i < weight.size().count; ++i)
      out[i] = static_cast<std::byte>(static_cast<int>(out[i]) * static_cast<int>(*std::get<0>(k).data()));
  }
};
struct views {
  using kept = std::tuple<std::byte const*>;
};
template <class Slot, class T> concept can_keep = requires(Slot& slot, T& t) { slot.template keep<0>(t); };
template <class Slot, class T>
concept can_keep_moved = requires(Slot& slot, T&& t) { slot.template keep<0>(std::move(t)); };
}  // namespace

BOOST_AUTO_TEST_SUITE(tensor_retention)

BOOST_AUTO_TEST_CASE(a_group_keeps_owned_tensors_only) {
  BOOST_TEST(retained_group<scaled>);
  BOOST_TEST(!retained_group<views>);
  BOOST_TEST(!retained_group<int>);
}

BOOST_AUTO_TEST_CASE(a_loan_cannot_be_kept_and_an_owned_tensor_only_moved_in) {
  BOOST_TEST((!can_keep<retention<scaled>, borrowed_tensor const>));
  BOOST_TEST((!can_keep<retention<scaled>, owned_tensor<host_memory>>));
  BOOST_TEST((can_keep_moved<retention<scaled>, owned_tensor<host_memory>>));
}

BOOST_AUTO_TEST_CASE(what_waits_meets_what_arrives_last) {
  std::array<std::byte, 2> slot{std::byte{3}, std::byte{0}};
  penstock::detail::loans loans;
  retention<scaled> waiting;
  waiting.keep<0>(loans.lend(slot.data(), bytes{1}, [](borrowed_tensor const& t) { return t.to_owned(); }).value());
  slot = {std::byte{5}, std::byte{7}};  // the slot is refilled
  std::array<std::byte, 2> out{};
  loans.lend(slot.data(), bytes{2}, [&](borrowed_tensor const& t) { scaled::finish(waiting.kept(), t, out.data()); });
  BOOST_TEST((out == std::array{std::byte{15}, std::byte{21}}));
}

BOOST_AUTO_TEST_SUITE_END()
