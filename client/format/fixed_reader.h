// SPDX-License-Identifier: Apache-2.0
// Reads records of a fixed length, and whole files. Record i is bytes [i * n, (i + 1) * n) and belongs to the split
// that holds the first of them; the last record of a split is completed from the bytes after the split. For a
// compressed file, records and lengths are those of the decompressed bytes.
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "client/format/byte_source.h"

namespace millrace {

namespace internal {

// Return kInvalid if the file's length, or the number of bytes that it decompresses to, is not a whole number of
// records.
[[nodiscard]] Status CheckFixedLength(const Split& split, std::uint64_t record_bytes);
[[nodiscard]] Status CheckDecompressedLength(const Split& split, std::uint64_t length, std::uint64_t record_bytes);
// Appends bytes of the file from the split's end on, until *record is whole.
[[nodiscard]] Status CompleteFixed(ByteSource& source, const Split& split, std::uint64_t record_bytes,
                                   std::string* record);
// Returns kInvalid if a whole file is too long to be held in memory, and kCorrupt if the file ends early.
[[nodiscard]] Status CheckWholeFile(const Split& split, std::uint64_t got);
[[nodiscard]] Status FileTooLong(const Split& split, const std::string& length);

}  // namespace internal

// Gives the split's records in order to on_record(std::string_view record, std::uint64_t offset); a record lives for
// the call.
template <class OnRecord>
Status ReadFixedRecords(ByteSource& source, const Split& split, std::uint64_t record_bytes, OnRecord&& on_record) {
  if (record_bytes == 0) return internal::CheckFixedLength(split, record_bytes);
  std::uint64_t offset = (split.offset + record_bytes - 1) / record_bytes * record_bytes;
  if (offset >= split.end()) return internal::CheckFixedLength(split, record_bytes);
  std::string open;
  bool checked = false;
  Status check;
  const auto feed = [&](std::string_view piece) {
    if (!std::exchange(checked, true) && !source.decompressed()) {
      check = internal::CheckFixedLength(split, record_bytes);
      if (!check.ok()) return false;
    }
    if (!open.empty()) {
      const std::size_t take = std::min<std::size_t>(record_bytes - open.size(), piece.size());
      open.append(piece.substr(0, take));
      piece.remove_prefix(take);
      if (open.size() < record_bytes) return true;
      on_record(std::string_view(open), offset);
      offset += record_bytes;
      open.clear();
    }
    for (; piece.size() >= record_bytes; piece.remove_prefix(record_bytes), offset += record_bytes) {
      on_record(piece.substr(0, record_bytes), offset);
    }
    open.append(piece);
    return true;
  };
  MILLRACE_TRY(source.Stream(offset, split.end() - offset, feed));
  MILLRACE_TRY(check);
  if (open.empty()) return Status::Ok();
  if (source.decompressed()) return internal::CheckDecompressedLength(split, offset + open.size(), record_bytes);
  MILLRACE_TRY(internal::CompleteFixed(source, split, record_bytes, &open));
  on_record(std::string_view(open), offset);
  return Status::Ok();
}

// Gives the bytes of the whole file once to on_file(std::string_view bytes), also if the file is empty. Requires: the
// split is all of the file.
template <class OnFile>
Status ReadWholeFile(ByteSource& source, const Split& split, OnFile&& on_file) {
  MILLRACE_TRY(internal::CheckWholeFile(split, split.length));
  std::string bytes;
  bool given = false, fits = true;
  MILLRACE_TRY(source.Stream(split.offset, split.length, [&](std::string_view piece) {
    given = !source.decompressed() && piece.size() == split.length;
    if (given) {
      on_file(piece);
      return true;
    }
    fits = piece.size() <= kMaxRecordBytes - bytes.size();
    if (fits) bytes.append(piece);
    return fits;
  }));
  if (given) return Status::Ok();
  if (!fits) return internal::FileTooLong(split, "more than " + std::to_string(kMaxRecordBytes));
  if (!source.decompressed()) MILLRACE_TRY(internal::CheckWholeFile(split, bytes.size()));
  on_file(std::string_view(bytes));
  return Status::Ok();
}

}  // namespace millrace
