// SPDX-License-Identifier: Apache-2.0
// Encoder and Decoder write and read each of Millrace's own binary formats (database values, run files, bulk frames).
// Integers are little-endian or LEB128 varints; strings carry a varint length. A Decoder trusts nothing: every read is
// bounded by the bytes left, and all reads after a failed one fail.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

static_assert(std::endian::native == std::endian::little, "formats are written as the machine holds them");

class Encoder {
 public:
  void U8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void U32(std::uint32_t v) { Raw(&v, sizeof v); }
  void U64(std::uint64_t v) { Raw(&v, sizeof v); }
  void Varint(std::uint64_t v) {
    while (v >= 0x80) {
      U8(static_cast<std::uint8_t>(v | 0x80));
      v >>= 7;
    }
    U8(static_cast<std::uint8_t>(v));
  }
  void Text(std::string_view v) {
    Varint(v.size());
    out_.append(v);
  }
  void Raw(const void* data, std::size_t size) { out_.append(static_cast<const char*>(data), size); }

  [[nodiscard]] const std::string& bytes() const { return out_; }
  [[nodiscard]] std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads from bytes. After a failed read every further read returns zero or empty, so the caller calls Finish() once at
// the end. Requires: the bytes outlive the Decoder.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t U8() { return Fixed<std::uint8_t>(); }
  std::uint32_t U32() { return Fixed<std::uint32_t>(); }
  std::uint64_t U64() { return Fixed<std::uint64_t>(); }
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = U8();
      if (failed_) return 0;
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    Fail();
    return 0;
  }
  std::string_view Text() { return Raw(Varint()); }
  std::string_view Raw(std::uint64_t size) {
    if (failed_ || size > rest_.size()) {
      Fail();
      return {};
    }
    const std::string_view v = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return v;
  }

  // Makes all further reads fail, as after a read out of bounds: for a caller that has read an impossible value.
  void Fail() {
    failed_ = true;
    rest_ = {};
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t left() const { return rest_.size(); }
  // Returns OK if every read was within bounds and nothing is left, else kCorrupt, naming `what`.
  [[nodiscard]] Status Finish(std::string_view what) const {
    if (failed_) return Corrupt(std::string(what) + ": ends too early or holds a number out of range");
    if (!rest_.empty()) return Corrupt(std::string(what) + ": " + std::to_string(rest_.size()) + " bytes too many");
    return Status::Ok();
  }

 private:
  template <class T>
  T Fixed() {
    T v = 0;
    if (failed_ || rest_.size() < sizeof v) {
      Fail();
      return 0;
    }
    std::memcpy(&v, rest_.data(), sizeof v);
    rest_.remove_prefix(sizeof v);
    return v;
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace millrace
