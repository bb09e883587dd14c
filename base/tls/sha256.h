// SPDX-License-Identifier: Apache-2.0
// Sha256: the SHA-256 (FIPS 180-4) of bytes that come in pieces, for names that identify the content of a file. Thread
// rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace millrace::tls {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void Add(std::string_view bytes);
  // Returns the digest of all bytes added, in 64 lower-case hexadecimal digits. Requires: Hex is called once.
  [[nodiscard]] std::string Hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

[[nodiscard]] std::string Sha256Hex(std::string_view bytes);

}  // namespace millrace::tls
