// SPDX-License-Identifier: Apache-2.0
#include "client/format/line_reader.h"

#include <algorithm>

#include "base/text.h"

namespace millrace::internal {
namespace {

// Most lines end soon after the split, so the first look is short; a long line is read in larger and larger steps.
constexpr std::uint64_t kFirstLook = std::uint64_t{16} << 10;
constexpr std::uint64_t kLongestLook = std::uint64_t{8} << 20;

}  // namespace

Result<bool> StartsInsideLine(ByteSource& source, const Split& split) {
  if (split.offset == 0) return false;
  std::string before;
  MILLRACE_TRY(source.ReadAt(split.offset - 1, 1, &before));
  if (before.size() != 1) {
    return Corrupt(Quote(split.name) + " ends before byte " + std::to_string(split.offset) + ", where a split begins");
  }
  return before[0] != '\n';
}

Status RecordTooLong(const Split& split, std::uint64_t offset) {
  return Invalid("the record at byte " + std::to_string(offset) + " of " + Quote(split.name) +
                 " is longer than 2 GiB, the most that a record may have");
}

Status CompleteLine(ByteSource& source, const Split& split, std::string* line, bool* newline) {
  const std::uint64_t begin = split.end() - line->size();
  std::uint64_t at = split.end();
  *newline = false;
  for (std::uint64_t step = kFirstLook; at < split.file_length; step = std::min(step * 4, kLongestLook)) {
    const std::size_t before = line->size();
    const std::uint64_t size = std::min(step, split.file_length - at);
    MILLRACE_TRY(source.ReadAt(at, size, line));
    if (line->size() != before + size) {
      return Corrupt(Quote(split.name) + " ends at byte " + std::to_string(at + line->size() - before) +
                     " instead of " + std::to_string(split.file_length));
    }
    const std::size_t end = line->find('\n', before);
    *newline = end != std::string::npos;
    if (*newline) line->resize(end);
    if (line->size() > kMaxRecordBytes) return RecordTooLong(split, begin);
    if (*newline) return Status::Ok();
    at += size;
  }
  return Status::Ok();
}

}  // namespace millrace::internal
