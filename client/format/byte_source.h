// SPDX-License-Identifier: Apache-2.0
// ByteSource separates the record readers from the origin of the bytes: the readers decide which records a split owns,
// over any source.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/ids/job.h"
#include "base/status.h"

namespace millrace {

// Bytes [offset, offset + length) of a file, and the length of the whole file, which readers need. The bytes are those
// that are stored: compressed ones, if the file is compressed.
struct Split {
  std::string name;  // of the file, for messages
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t file_length = 0;
  [[nodiscard]] std::uint64_t end() const { return offset + length; }
};

// The length of the longest record that is read.
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{2} << 30;

class ByteSource {
 public:
  using Sink = std::function<bool(std::string_view)>;

  virtual ~ByteSource() = default;
  // Gives bytes [offset, offset + size) of the file to `sink` in order, in pieces as large as they arrive; a piece
  // lives only for the call of `sink`. If `sink` returns false the stream ends, which is not a failure. Returns
  // kCorrupt if the file ends early.
  virtual Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) = 0;
  // Appends at most `size` bytes from `offset` to *out; fewer only at the end of the file.
  virtual Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) = 0;
  // Returns true if Stream gives, or has given, decompressed bytes in place of the file's own; their number is not
  // known in advance (opened_source.h). The answer is valid from the first piece on.
  [[nodiscard]] virtual bool decompressed() const { return false; }
};

}  // namespace millrace
