// SPDX-License-Identifier: Apache-2.0
// Helpers of fuzz targets. A target is one file with two functions:
//
//   extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);   // libFuzzer's: 0
//   std::vector<std::string> millrace::fuzz::Seeds();                                    // good inputs of ours
//
// With clang it is linked with libFuzzer, whose corpus begins with the seeds (seeds_main.cc); with g++ it is linked
// with a driver that mutates the seeds (driver.cc). A target aborts if a property does not hold; sanitizers find the
// other faults. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"

namespace millrace::fuzz {

std::vector<std::string> Seeds();

inline std::string_view View(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Aborts with the message `what` unless `holds` is true.
inline void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

// Draw takes numbers and texts from the bytes of an input. When the bytes are used up, numbers are zero and texts
// empty.
class Draw {
 public:
  explicit Draw(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t Number(std::uint64_t most = ~std::uint64_t{0}) {
    std::uint64_t value = 0;
    for (int i = 0; i < 8 && (most >> (8 * i)) != 0; ++i) value |= std::uint64_t{Byte()} << (8 * i);
    return most == ~std::uint64_t{0} ? value : value % (most + 1);
  }
  std::uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  bool Flag() { return (Byte() & 1) != 0; }
  std::string Text(std::size_t most = 64) {
    const std::string_view text = rest_.substr(0, Number(most));
    rest_.remove_prefix(text.size());
    return std::string(text);
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Returns the bytes with the last four replaced by the checksum of the others, so that mutations change the content but
// the checksum stays right.
inline std::string Summed(std::string_view bytes) {
  if (bytes.size() < 4) return std::string(bytes);
  std::string out(bytes);
  const std::uint32_t crc = Crc32c(bytes.substr(0, bytes.size() - 4));
  out.replace(out.size() - 4, 4, reinterpret_cast<const char*>(&crc), 4);
  return out;
}

// Returns true if a Result or an optional has a value.
template <class T>
bool Held(const T& result) {
  if constexpr (requires { result.ok(); }) {
    return result.ok();
  } else {
    return result.has_value();
  }
}

// Decodes `bytes`, encodes the value, decodes that and encodes it again, and checks that both encodings give the same
// bytes. `decode` returns a Result or an optional with the argument of `encode`. Returns true if `bytes` could be
// decoded.
template <class Decode, class Encode>
bool RoundTrip(std::string_view bytes, Decode decode, Encode encode, std::string_view what) {
  const auto decoded = decode(bytes);
  if (!Held(decoded)) return false;
  const std::string once = encode(*decoded);
  const auto again = decode(std::string_view(once));
  Require(Held(again), std::string(what) + ": what was decoded is encoded to bytes that do not decode");
  Require(encode(*again) == once, std::string(what) + ": encoding again gives other bytes");
  return true;
}

}  // namespace millrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
