// Ways to keep a loan that no C++ compiler can refuse. Each is a case of this program: `misuse CASE`. In a checked build
// the next use of the loan stops the program with a sentence; `misuse` alone names the cases. tests/misuse/check.py runs them.
#ifndef PENSTOCK_CHECKED
#  define PENSTOCK_CHECKED 1  // also where NDEBUG is defined
#endif
#include <array>
#include <atomic>
#include <coroutine>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <thread>

#include <penstock/tensor/lease.hpp>

namespace {
using penstock::borrowed_tensor;
using penstock::bytes;

/// A slot and who lends it, as in an executor: filled, lent, and filled again.
class slot {
 public:
  static constexpr bytes size{64};

  template <class F>
  void lend(F&& f) {
    bytes_.fill(std::byte{++fill_});
    loans_.lend(bytes_.data(), size, f);
  }

 private:
  penstock::detail::loans loans_;
  std::array<std::byte, size.count> bytes_{};
  unsigned char fill_ = 0;
};

/// Uses a loan; the last thing that a case does. @returns the exit status of a program that went on
int use(borrowed_tensor const& t) { return t.size() == slot::size ? 0 : 1; }

int closure_in_a_function(slot& s) {
  std::function<int()> later;
  s.lend([&](borrowed_tensor const& t) { later = [&t] { return use(t); }; });
  return later();
}

int reference_wrapper(slot& s) {
  std::function<int()> later;
  s.lend([&](borrowed_tensor const& t) { later = [kept = std::ref(t)] { return use(kept); }; });
  return later();
}

int address(slot& s) {
  borrowed_tensor const* kept = nullptr;
  s.lend([&](borrowed_tensor const& t) { kept = std::addressof(t); });
  return use(*kept);
}

/// The loop over layers: a new loan of the same slot is there, and the old one must not be taken for it.
int address_in_the_next_lease(slot& s) {
  borrowed_tensor const* kept = nullptr;
  int status = 1;
  s.lend([&](borrowed_tensor const& t) { kept = std::addressof(t); });
  s.lend([&](borrowed_tensor const&) { status = use(*kept); });
  return status;
}

struct task {
  struct promise_type {
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(int v) { value = v; }
    void unhandled_exception() {}
    int value = 1;
  };
  std::coroutine_handle<promise_type> frame;
};

/// A loan among a coroutine's parameters does not compile; what its closure captured is hidden from every check.
int coroutine_that_captures(slot& s) {
  std::function<task()> closure;
  task later{};
  s.lend([&](borrowed_tensor const& t) {
    closure = [&t]() -> task { co_return use(t); };
    later = closure();
  });
  later.frame.resume();
  int const status = later.frame.promise().value;
  later.frame.destroy();
  return status;
}

int thread_that_runs_on(slot& s) {
  std::atomic<bool> lease_is_over = false;
  int status = 1;
  std::thread runs_on;
  s.lend([&](borrowed_tensor const& t) {
    runs_on = std::thread([&] {
      lease_is_over.wait(false);
      status = use(t);
    });
  });
  lease_is_over = true;
  lease_is_over.notify_one();
  runs_on.join();
  return status;
}

int static_reference(slot& s) {
  int status = 1;
  auto const look = [&](borrowed_tensor const& t) {
    static auto const& first = t;
    status = use(first);
  };
  s.lend(look);
  s.lend(look);
  return status;
}

int member_reference(slot& s) {
  struct holder {
    borrowed_tensor const& t;
  };
  std::unique_ptr<holder> kept;
  s.lend([&](borrowed_tensor const& t) { kept.reset(new holder{t}); });
  return use(kept->t);
}

int bytes_of_the_object(slot& s) {
  alignas(borrowed_tensor) std::byte copy[sizeof(borrowed_tensor)];
  s.lend(
      [&](borrowed_tensor const& t) { std::memcpy(copy, static_cast<void const*>(std::addressof(t)), sizeof(copy)); });
  return use(*std::launder(reinterpret_cast<borrowed_tensor const*>(copy)));
}

// Two more mistakes, which stop every build: what lies behind a loan is other weights.
int part_behind_the_end(slot& s) {
  s.lend([](borrowed_tensor const& t) { t.part(bytes{60}, bytes{5}, [](borrowed_tensor const&) {}); });
  return 0;
}

int copy_from_behind_the_end(slot& s) {
  std::array<std::byte, 8> to{};
  s.lend([&](borrowed_tensor const& t) { t.copy_to(to.data(), bytes{~0ull}, bytes{8}); });
  return 0;
}

/// What one should do: nothing stops it.
int kept_as_an_owned_tensor(slot& s) {
  penstock::owned_tensor<penstock::host_memory> kept;
  s.lend([&](borrowed_tensor const& t) { kept = t.to_owned().value(); });
  s.lend([](borrowed_tensor const&) {});
  return kept.size() == slot::size && kept.data()[63] == std::byte{1} ? 0 : 1;
}

struct named_case {
  std::string_view name;
  int (*run)(slot&);
};
#define MISUSE_CASE(name) \
  named_case { #name, name }
constexpr named_case cases[] = {
    MISUSE_CASE(closure_in_a_function),     MISUSE_CASE(reference_wrapper),        MISUSE_CASE(address),
    MISUSE_CASE(address_in_the_next_lease), MISUSE_CASE(coroutine_that_captures),  MISUSE_CASE(thread_that_runs_on),
    MISUSE_CASE(static_reference),          MISUSE_CASE(member_reference),         MISUSE_CASE(bytes_of_the_object),
    MISUSE_CASE(part_behind_the_end),       MISUSE_CASE(copy_from_behind_the_end), MISUSE_CASE(kept_as_an_owned_tensor),
};
}  // namespace

int main(int argc, char** argv) {
  slot s;
  for (auto const& c : cases) {
    if (argc < 2) std::printf("%s\n", c.name.data());
    if (argc == 2 && c.name == argv[1]) return c.run(s);
  }
  return argc < 2 ? 0 : 2;
}
