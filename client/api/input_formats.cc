// SPDX-License-Identifier: Apache-2.0
#include "client/api/input_formats.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/text.h"
#include "client/format/record_file.h"

namespace millrace {

void Numbers::Declare(JobOptions& options) {
  options.Integer("input.maps", 1, 1, kMostMaps, "how many maps make the data");
  options.Integer("input.records", 0, 0, std::numeric_limits<std::int64_t>::max(),
                  "how many records they make together; 0: one each");
}

NumberRange Numbers::Range(const JobOptions& options) {
  const auto maps = static_cast<std::uint32_t>(options.integer("input.maps"));
  const auto records = static_cast<std::uint64_t>(options.integer("input.records"));
  return {maps, records == 0 ? maps : records};
}

namespace internal {

Status WrongPart(const Split& split, std::uint64_t offset, const char* part, std::size_t bytes) {
  return Invalid("a record of " + Quote(split.name) + " near byte " + std::to_string(offset) + " has a " + part +
                 " of " + std::to_string(bytes) +
                 " bytes that are not of the type in the job's TypedRecordFiles; read it as the type that was written");
}

Status ReadRecordFile(ByteSource& source, const Split& split, const OnKeyValue& on_record) {
  std::string scratch;
  std::uint64_t at = split.offset;
  const auto read_at = [&](std::uint64_t offset, std::size_t size, char* out) -> Status {
    scratch.clear();
    MILLRACE_TRY(source.ReadAt(offset, size, &scratch));
    if (scratch.size() != size) {
      return Corrupt(Quote(split.name) + " ends at byte " + std::to_string(offset + scratch.size()) + " instead of " +
                     std::to_string(split.file_length));
    }
    if (size > 0) std::memcpy(out, scratch.data(), size);
    at = std::clamp(offset, split.offset, split.end());
    return Status::Ok();
  };
  MILLRACE_ASSIGN(RecordReader reader,
                  RecordReader::Open(read_at, split.file_length, split.offset, split.end(), split.name));
  at = split.offset;
  while (true) {
    MILLRACE_ASSIGN(const std::optional<Record> record, reader.Next());
    if (!record) return Status::Ok();
    on_record(KeyValue{record->key, record->value}, at);
  }
}

}  // namespace internal
}  // namespace millrace
