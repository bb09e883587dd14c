// SPDX-License-Identifier: Apache-2.0
#include "client/format/fixed_reader.h"

#include "base/text.h"

namespace millrace::internal {

Status CheckFixedLength(const Split& split, std::uint64_t record_bytes) {
  if (record_bytes == 0) return Invalid("the length of fixed-length records is 0; set -D input.record_bytes=N");
  if (split.file_length % record_bytes == 0) return Status::Ok();
  return Invalid(Quote(split.name) + " has " + std::to_string(split.file_length) +
                 " bytes, which is not a whole number of records of " + std::to_string(record_bytes) + " bytes");
}

Status CheckDecompressedLength(const Split& split, std::uint64_t length, std::uint64_t record_bytes) {
  if (length % record_bytes == 0) return Status::Ok();
  return Invalid(Quote(split.name) + " decompresses to " + std::to_string(length) +
                 " bytes, which is not a whole number of records of " + std::to_string(record_bytes) + " bytes");
}

Status CompleteFixed(ByteSource& source, const Split& split, std::uint64_t record_bytes, std::string* record) {
  MILLRACE_TRY(source.ReadAt(split.end(), record_bytes - record->size(), record));
  if (record->size() == record_bytes) return Status::Ok();
  return Corrupt(Quote(split.name) + " ends inside a record, before its length of " +
                 std::to_string(split.file_length));
}

Status FileTooLong(const Split& split, const std::string& length) {
  return Invalid(Quote(split.name) + " has " + length +
                 " bytes; a whole file is one record, and a record has 2 GiB at most");
}

Status CheckWholeFile(const Split& split, std::uint64_t got) {
  if (split.offset != 0 || split.length != split.file_length) {
    return Internal("a split of " + Quote(split.name) + " is only a part of it, for a job that reads whole files");
  }
  if (got > kMaxRecordBytes) return FileTooLong(split, std::to_string(got));
  if (got == split.length) return Status::Ok();
  return Corrupt(Quote(split.name) + " ends at byte " + std::to_string(got) + " instead of " +
                 std::to_string(split.length));
}

}  // namespace millrace::internal
