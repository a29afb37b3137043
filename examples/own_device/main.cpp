// A device of one's own: memory that only it can write, here pages that copies count into.
#include <penstock/arch/as_stored.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/storage/memory.hpp>

#include <atomic>
#include <cstdio>
#include <cstring>

/// What a device must be is written at penstock::device_backend.
struct counting_device {
  using staging = penstock::device::host_pages;
  struct event {
    penstock::result<bool> done() { return true; }
    penstock::result<void> wait() { return {}; }
  };
  struct stream {
    std::atomic<unsigned>* copies;
    penstock::result<void> copy(std::span<penstock::copy_op const> ops) {  // all copies of one slot in one call
      for (auto const& o : ops) {
        for (unsigned r = 0; r < o.rows; ++r) std::memcpy(o.to + r * o.to_pitch, o.from + r * o.from_pitch, o.width);
        ++*copies;
      }
      return {};
    }
    penstock::result<void> mark(event&) { return {}; }
  };
  template <penstock::memory M>
  static constexpr bool writes = M::space == penstock::memory_space::host;

  std::atomic<unsigned>* copies;
  penstock::result<staging> stage(penstock::bytes n) { return staging::allocate(n); }
  penstock::result<stream> open_stream() { return stream{copies}; }
  bool reaches(std::byte const*) const { return false; }  // so that every byte goes through a slot and a copy
  penstock::result<void> bind() { return {}; }
};

struct policies : penstock::defaults {
  using storage = penstock::storage::memory;
  using ownership = penstock::ownership::own<>;
  using quant = penstock::quant::none;
  using arch = penstock::arch::as_stored;
  using device = counting_device;
};

int main() {
  std::string file = R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  file = std::string{static_cast<char>(file.size()), 0, 0, 0, 0, 0, 0, 0} + file + "abc";
  penstock::storage::memory store;
  store.add("model/model.safetensors", std::string_view{file});

  std::atomic<unsigned> copies{0};
  penstock::pipeline<policies> loader{store, counting_device{&copies}};
  auto const model = loader.open("memory://model").value();
  auto const plan = loader.plan(model).value();
  bool right = false;
  (void)loader
      .load(plan,
            [&](penstock::parameter const&, penstock::owned_tensor<penstock::host_memory> t) {
              right = std::memcmp(t.data(), "abc", 3) == 0;
            })
      .value();
  std::printf("%u copies\n", copies.load());
  return right && copies == 1 ? 0 : 1;
}
