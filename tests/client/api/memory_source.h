// SPDX-License-Identifier: Apache-2.0
// MemorySource is a ByteSource over a string. It passes on pieces of a size that the test chooses.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "client/format/byte_source.h"

namespace millrace {

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}

  Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) override {
    const std::uint64_t end = offset + size;
    if (end > bytes_.size()) return Corrupt("the file is shorter");
    while (offset < end) {
      // This is a copy, so that the sanitizer finds bytes that are used after the call.
      const std::string piece(bytes_.substr(offset, std::min<std::uint64_t>(piece_, end - offset)));
      if (!sink(piece)) return Status::Ok();
      offset += piece.size();
    }
    return Status::Ok();
  }
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override {
    ++reads;
    if (offset < bytes_.size()) out->append(bytes_.substr(offset, size));
    return Status::Ok();
  }

  int reads = 0;

 private:
  std::string_view bytes_;
  std::size_t piece_;
};

}  // namespace millrace
