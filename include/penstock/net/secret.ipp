#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <penstock/core/bytes.hpp>
#include <penstock/net/secret.hpp>

PENSTOCK_BEGIN
namespace net {
PENSTOCK_INLINE secret::~secret() {
  if (!bytes_.empty()) OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

PENSTOCK_INLINE std::optional<secret> base64_decode(std::string_view text) {
  auto const value = [](char c) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    auto const at = alphabet.find(c);
    return at == alphabet.npos ? -1 : static_cast<int>(at);
  };
  if (text.empty() || text.size() % 4) return std::nullopt;
  std::string out;
  std::size_t const pad = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    u32 group = 0;
    std::size_t const skipped = i + 4 == text.size() ? pad : 0;
    for (std::size_t k = 0; k < 4; ++k) {
      int const v = k < 4 - skipped ? value(text[i + k]) : 0;
      if (v < 0) return std::nullopt;
      group = group << 6 | static_cast<u32>(v);
    }
    for (std::size_t k = 0; k < 3 - skipped; ++k) out += static_cast<char>(group >> (16 - 8 * k) & 255);
  }
  secret decoded(out);
  OPENSSL_cleanse(out.data(), out.size());
  return decoded;
}

PENSTOCK_INLINE std::string base64_encode(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  int const n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<unsigned char const*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}
}  // namespace net
PENSTOCK_END
