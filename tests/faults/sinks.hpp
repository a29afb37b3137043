#pragma once
#include <openssl/evp.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <penstock/pipeline/pipeline.hpp>

#include "trouble.hpp"

/// Memory of which the k-th allocation of a load fails.
struct scarce_memory {
  static constexpr penstock::memory_space space = penstock::memory_space::host;
  static inline std::atomic<long> left{-1};
  static void* allocate(std::size_t n) noexcept {
    return left.fetch_sub(1) == 0 ? nullptr : penstock::host_memory::allocate(n);
  }
  static void release(void* p, std::size_t n) noexcept { penstock::host_memory::release(p, n); }
};

inline std::string sha256(std::vector<std::byte> const& data) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(data.data(), data.size(), out, &length, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += "0123456789abcdef"[out[i] >> 4], hex += "0123456789abcdef"[out[i] & 15];
  return hex;
}

/// What every sink here does: it has the parameters' bytes, and remembers which were announced.
struct parameters {
  parameters(penstock::plan const& p, trouble& t)
      : trouble_(t), memory(p.parameters.size()), told(p.parameters.size()) {
    for (auto const& q : p.parameters) names.push_back(q.name), sizes.push_back(q.size.count);
  }
  std::vector<std::byte>& of(penstock::parameter const& p) {
    auto& whole = memory[index_of(p.id)];
    whole.resize(p.size.count);
    return whole;
  }
  void announced(penstock::parameter const& p) {
    std::lock_guard const lock(m);
    ++told[index_of(p.id)];
  }
  /// Of everything that was announced. A parameter that was announced twice has no digest.
  [[nodiscard]] std::map<std::string, std::string> digests() const {
    std::map<std::string, std::string> all;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (told[i]) all[names[i]] = told[i] == 1 ? sha256(memory[i]) : "announced " + std::to_string(told[i]) + " times";
    return all;
  }

  trouble& trouble_;
  std::vector<std::vector<std::byte>> memory;
  std::vector<int> told;
  std::vector<std::string> names;
  std::vector<penstock::u64> sizes;
  std::mutex m;
};

struct place_sink : parameters {
  using parameters::parameters;
  penstock::placement destination(penstock::parameter const& p) {
    trouble::call const c(trouble_);
    return {.at = of(p).data(), .row_pitch = {}, .expert_stride = {}, .space = penstock::memory_space::host};
  }
  void ready(penstock::parameter const& p) {
    trouble::call const c(trouble_);
    announced(p);
  }
  void layer_ready(penstock::layer_id) { trouble::call const c(trouble_); }
};

struct borrow_sink : parameters {
  using parameters::parameters;
  void piece(penstock::parameter const& p, penstock::landed_piece const& w, penstock::borrowed_tensor const& t,
             penstock::lease<penstock::device::host::stream>&) {
    trouble::call const c(trouble_);
    std::byte* to = nullptr;
    {
      std::lock_guard const lock(m);
      to = of(p).data();
    }
    for (penstock::u64 r = 0; r < w.where.rows; ++r)
      t.copy_to(to + w.where.at.count + r * w.where.pitch.count, penstock::bytes{r * w.pitch.count}, w.where.width);
  }
  void ready(penstock::parameter const& p) {
    trouble::call const c(trouble_);
    announced(p);
  }
  void layer_ready(penstock::layer_id) { trouble::call const c(trouble_); }
};

struct owning_sink : parameters {
  using parameters::parameters;
  void operator()(penstock::parameter const& p, penstock::owned_tensor<scarce_memory> t) {
    trouble::call const c(trouble_);
    if (t.size().count) std::memcpy(of(p).data(), t.data(), of(p).size());
    announced(p);
  }
};
