// SPDX-License-Identifier: Apache-2.0
#include "base/tls/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"
#include "base/tls/openssl.h"

namespace millrace::tls {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kBytes = 32;

}  // namespace

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> evp{EVP_MD_CTX_new()};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  MILLRACE_CHECK(EVP_DigestInit_ex(context_->evp.get(), EVP_sha256(), nullptr) == 1, "OpenSSL offers no SHA-256");
}
Sha256::~Sha256() = default;

void Sha256::Add(std::string_view bytes) {
  MILLRACE_CHECK(EVP_DigestUpdate(context_->evp.get(), bytes.data(), bytes.size()) == 1, "SHA-256");
}

std::string Sha256::Hex() {
  std::array<unsigned char, kBytes> digest;
  MILLRACE_CHECK(EVP_DigestFinal_ex(context_->evp.get(), digest.data(), nullptr) == 1, "SHA-256");
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::string Sha256Hex(std::string_view bytes) {
  Sha256 sum;
  sum.Add(bytes);
  return sum.Hex();
}

}  // namespace millrace::tls
