#pragma once
#include <cuda_runtime_api.h>

#include <string>
#include <utility>
#include <vector>

#include <penstock/core/error.hpp>
#include <penstock/device/device.hpp>
#include <penstock/device/host.hpp>

PENSTOCK_BEGIN
namespace detail {
/// What CUDA says, as one of our errors. The sticky error of a broken context is named as such.
inline error cuda_error(cudaError_t code, char const* what) {
  auto const kind = code == cudaErrorMemoryAllocation ? error_kind::memory : error_kind::io;
  std::string text =
      std::string("CUDA cannot ") + what + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code);
  (void)cudaGetLastError();
  bool const broken = cudaPeekAtLastError() != cudaSuccess;
  if (code == cudaErrorMemoryAllocation) text += "; free memory of the device, or place fewer parameters there";
  else if (broken) text += "; an earlier kernel or copy broke this context: the process has to be started again";
  else text += "; check the driver (nvidia-smi) and the number of the device";
  return {kind, std::move(text)};
}
inline result<void> cuda_done(cudaError_t code, char const* what) {
  if (code != cudaSuccess) return cuda_error(code, what);
  return {};
}

/// Another device for this thread, while it lives.
class on_device {
 public:
  explicit on_device(int ordinal) noexcept {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = -1;
    if (before_ != ordinal) (void)cudaSetDevice(ordinal);
    else before_ = -1;
  }
  ~on_device() {
    if (before_ >= 0) (void)cudaSetDevice(before_);
  }
  on_device(on_device const&) = delete;
  on_device& operator=(on_device const&) = delete;

 private:
  int before_ = -1;
};

/// A stream that neither waits for the default stream nor is waited for by it.
class cuda_stream_handle {
 public:
  cuda_stream_handle() = default;
  static result<cuda_stream_handle> open() {
    cuda_stream_handle s;
    if (auto done = cuda_done(cudaStreamCreateWithFlags(&s.s_, cudaStreamNonBlocking), "make a stream"); !done)
      return std::move(done).error();
    return result<cuda_stream_handle>{std::move(s)};
  }
  cuda_stream_handle(cuda_stream_handle&& o) noexcept : s_(std::exchange(o.s_, nullptr)) {}
  cuda_stream_handle& operator=(cuda_stream_handle&& o) noexcept {
    std::swap(s_, o.s_);
    return *this;
  }
  ~cuda_stream_handle() {
    if (s_) (void)cudaStreamDestroy(s_);
  }
  [[nodiscard]] cudaStream_t get() const noexcept { return s_; }

 private:
  cudaStream_t s_ = nullptr;
};

/// This thread's stream for allocations on its present device.
inline cudaStream_t allocation_stream() noexcept {
  thread_local std::vector<std::pair<int, cuda_stream_handle>> mine;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
  for (auto const& [of, stream] : mine)
    if (of == device) return stream.get();
  auto made = cuda_stream_handle::open();
  if (!made) return nullptr;
  return mine.emplace_back(device, *std::move(made)).second.get();
}
}  // namespace detail

/// Memory of the GPU that is current in the allocating thread, from CUDA's pool for it.
///
/// Without synchronising the device: whoever lets a tensor go has seen to it that nothing uses it any more.
struct cuda_memory {
  static constexpr memory_space space = memory_space::cuda;
  static void* allocate(std::size_t n) noexcept {
    auto const stream = detail::allocation_stream();
    void* p = nullptr;
    if (!stream || cudaMallocAsync(&p, n ? n : 1, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess) {
      (void)cudaGetLastError();
      return nullptr;
    }
    return p;
  }
  static void release(void* p, std::size_t) noexcept {
    cudaPointerAttributes of{};
    if (!p || cudaPointerGetAttributes(&of, p) != cudaSuccess) return;
    detail::on_device const there(of.device);
    if (auto const stream = detail::allocation_stream()) (void)cudaFreeAsync(p, stream);
  }
};
static_assert(memory<cuda_memory>);

namespace device {
/// Pages of the host that a GPU reads by itself.
///
/// Moves, does not copy.
class pinned_pages {
 public:
  /// @errors memory: no pages, or they cannot be locked (ulimit -l)
  static result<pinned_pages> allocate(bytes n) {
    auto pages = host_pages::allocate(n);
    if (!pages) return std::move(pages).error();
    pinned_pages p(*std::move(pages));
    if (p.size())
      if (auto const code = cudaHostRegister(p.data(), p.size(), cudaHostRegisterDefault); code != cudaSuccess) {
        p.registered_ = false;
        return penstock::detail::cuda_error(code, "lock host memory for slots");
      }
    return result<pinned_pages>{std::move(p)};
  }
  pinned_pages(pinned_pages&& o) noexcept
      : pages_(std::move(o.pages_)), registered_(std::exchange(o.registered_, false)) {}
  pinned_pages& operator=(pinned_pages&& o) noexcept {
    std::swap(pages_, o.pages_);
    std::swap(registered_, o.registered_);
    return *this;
  }
  ~pinned_pages() {
    if (registered_ && pages_.size()) (void)cudaHostUnregister(pages_.data());
  }
  [[nodiscard]] std::byte* data() const noexcept { return pages_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return pages_.size(); }

 private:
  explicit pinned_pages(host_pages p) noexcept : pages_(std::move(p)), registered_(true) {}
  host_pages pages_;
  bool registered_;
};

/// A GPU by its number, and the host: parameters may lie in either, also of one load.
///
/// Each lane has a stream of its own, which never synchronises with the default stream; a slot's copies go out in one batch
/// call for those in one piece and one for those of rows. Needs no nvcc. Memory that engines own is written as it is; no other
/// device is touched.
///
/// @threads any number of lanes at once
/// @source  CUDA Runtime API 13.0, "Memory Management"
class cuda {
 public:
  using staging = pinned_pages;
  template <memory M>
  static constexpr bool writes = M::space == memory_space::cuda || M::space == memory_space::host;

  explicit cuda(int ordinal = 0) noexcept : ordinal_(ordinal) {}

  /// Made when it is first marked.
  class event {
   public:
    event() = default;
    event(event&& o) noexcept : e_(std::exchange(o.e_, nullptr)) {}
    event& operator=(event&& o) noexcept {
      std::swap(e_, o.e_);
      return *this;
    }
    ~event() {
      if (e_) (void)cudaEventDestroy(e_);
    }
    result<bool> done() {
      auto const code = e_ ? cudaEventQuery(e_) : cudaSuccess;
      if (code == cudaErrorNotReady) return false;
      if (code != cudaSuccess) return penstock::detail::cuda_error(code, "finish a copy");
      return true;
    }
    result<void> wait() {
      return penstock::detail::cuda_done(e_ ? cudaEventSynchronize(e_) : cudaSuccess, "finish a copy");
    }

   private:
    friend class cuda;
    cudaEvent_t e_ = nullptr;
  };

  class stream {
   public:
    result<void> copy(std::span<copy_op const> ops) {
      to_.clear(), from_.clear(), sizes_.clear(), rows_.clear();
      for (auto const& op : ops) {
        if (op.rows > 1 && (op.to_pitch != op.width || op.from_pitch != op.width)) {
          rows_.push_back(of_rows(op));
          continue;
        }
        // Neighbours are not joined: a copy may not go from one allocation into the next.
        to_.push_back(op.to), from_.push_back(op.from), sizes_.push_back(std::size_t{op.width} * op.rows);
      }
      auto code = cudaSuccess;
      if (to_.size() == 1) {
        code = cudaMemcpyAsync(to_[0], from_[0], sizes_[0], cudaMemcpyDefault, stream_.get());
      } else if (!to_.empty()) {
        cudaMemcpyAttributes how{};
        how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        std::size_t first = 0;
        code =
            cudaMemcpyBatchAsync(to_.data(), from_.data(), sizes_.data(), to_.size(), &how, &first, 1, stream_.get());
      }
      if (code == cudaSuccess && !rows_.empty())
        code = cudaMemcpy3DBatchAsync(rows_.size(), rows_.data(), 0, stream_.get());
      return penstock::detail::cuda_done(code, "copy to the device");
    }
    result<void> mark(event& e) {
      auto code = e.e_ ? cudaSuccess : cudaEventCreateWithFlags(&e.e_, cudaEventDisableTiming | cudaEventBlockingSync);
      if (code == cudaSuccess) code = cudaEventRecord(e.e_, stream_.get());
      return penstock::detail::cuda_done(code, "mark a copy");
    }

   private:
    friend class cuda;
    explicit stream(penstock::detail::cuda_stream_handle s) noexcept : stream_(std::move(s)) {}

    static cudaMemcpy3DOperand operand(void* p, std::size_t pitch) noexcept {
      cudaMemcpy3DOperand o{};
      o.type = cudaMemcpyOperandTypePointer;
      o.op.ptr.ptr = p;
      o.op.ptr.rowLength = pitch;
      return o;
    }
    static cudaMemcpy3DBatchOp of_rows(copy_op const& op) noexcept {
      cudaMemcpy3DBatchOp b{};
      b.src = operand(const_cast<std::byte*>(op.from), op.from_pitch);
      b.dst = operand(op.to, op.to_pitch);
      b.extent = {op.width, op.rows, 1};
      b.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
      return b;
    }

    penstock::detail::cuda_stream_handle stream_;
    std::vector<void*> to_;
    std::vector<void const*> from_;
    std::vector<std::size_t> sizes_;
    std::vector<cudaMemcpy3DBatchOp> rows_;
  };

  /// @errors memory
  result<staging> stage(bytes n) {
    penstock::detail::on_device const there(ordinal_);
    return pinned_pages::allocate(n);
  }
  /// @errors memory; io
  result<stream> open_stream() {
    penstock::detail::on_device const there(ordinal_);
    auto made = penstock::detail::cuda_stream_handle::open();
    if (!made) return std::move(made).error();
    return result<stream>{stream(*std::move(made))};
  }
  /// Asked for destinations in host memory alone.
  bool reaches(std::byte const*) const noexcept { return true; }
  /// @errors io: no such device
  result<void> bind() { return penstock::detail::cuda_done(cudaSetDevice(ordinal_), "use the device"); }

  [[nodiscard]] int ordinal() const noexcept { return ordinal_; }

 private:
  int ordinal_;
};
}  // namespace device
static_assert(device_backend<device::cuda>);
PENSTOCK_END
