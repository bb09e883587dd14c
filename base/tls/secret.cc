// SPDX-License-Identifier: Apache-2.0
#include "base/tls/secret.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "base/check.h"

namespace millrace::tls {

std::string MakeSecret(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string random(bytes, '\0');
  MILLRACE_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), static_cast<int>(bytes)) == 1,
                 "the system gives no random bytes");
  std::string text;
  for (const char byte : random) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

bool SameSecret(std::string_view shown, std::string_view secret) {
  return !secret.empty() && shown.size() == secret.size() &&
         CRYPTO_memcmp(shown.data(), secret.data(), secret.size()) == 0;
}

}  // namespace millrace::tls
