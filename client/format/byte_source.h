// The seam between record readers and where bytes come from: the readers decide which records a split owns, over any
// source.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace {

// Bytes [offset, offset + length) of a file, and what readers must know of the rest of it.
struct Split {
  std::string name;  // of the file, for messages
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t file_length = 0;
  [[nodiscard]] std::uint64_t end() const { return offset + length; }
};

// The longest record that is read.
inline constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{2} << 30;

class ByteSource {
 public:
  using Sink = std::function<bool(std::string_view)>;

  virtual ~ByteSource() = default;
  // Bytes [offset, offset + size) of the file in order, in pieces that are as large as they come; a piece lives for the
  // call of `sink` only. False from `sink` ends the stream, which is no failure. kCorrupt when the file ends before.
  virtual Status Stream(std::uint64_t offset, std::uint64_t size, const Sink& sink) = 0;
  // At most `size` bytes from `offset`, appended to *out; fewer only at the end of the file.
  virtual Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) = 0;
};

}  // namespace millrace
