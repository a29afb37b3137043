#include "digest.hpp"

#include <openssl/evp.h>

#include <penstock/core/json_writer.hpp>

using namespace penstock;

std::string sha256(std::byte const* data, bytes size) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(data, static_cast<std::size_t>(size.count), out, &length, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += "0123456789abcdef"[out[i] >> 4], hex += "0123456789abcdef"[out[i] & 15];
  return hex;
}

result<void> digest_file::open(std::string const& path) {
  if (path.empty()) return {};
  auto f = output_file::create(path);
  if (!f) return std::move(f).error();
  file_.emplace(*std::move(f));
  return {};
}

void digest_file::add(unsigned rank, parameter const& p, std::byte const* data) {
  std::string line;
  {
    penstock::detail::json_object o(line);
    o.add("rank", u32{rank});
    o.add("name", p.name);
    o.add("dtype", name_of(p.type));
    o.add("shape", p.shape.extents());
    o.add("sha256", sha256(data, p.size));
  }
  std::lock_guard const lock(m_);
  file_->write_line(line);
}

result<void> digest_file::commit() { return file_ ? file_->commit() : result<void>{}; }
