// SPDX-License-Identifier: Apache-2.0
// The inputs of streaming jobs as formats of client/api/input_formats.h, and the loop over them.
// Thread rule: the task's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "client/api/input_formats.h"
#include "client/api/map_records.h"
#include "client/job/attempt.h"

namespace millrace::streaming {

// A record is a piece of a file; files are not cut between maps.
struct FilePieces {
  using Record = std::string_view;
  static constexpr SplitBy kSplitBy = SplitBy::kFile;
  static constexpr std::uint32_t kRecordBytes = 0;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions&, OnRecord&& on_record) {
    std::uint64_t at = 0;
    return source.Stream(0, split.file_length, [&](std::string_view piece) {
      on_record(piece, at);
      at += piece.size();
      return true;
    });
  }
};

// A record is a split of a file, whose parts, and those of the rest of the file, are read as they are asked for.
struct AskedParts {
  struct Record {
    ByteSource& source;
    const Split& split;
  };
  static constexpr SplitBy kSplitBy = SplitBy::kBlock;
  static constexpr std::uint32_t kRecordBytes = 0;
  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions&, OnRecord&& on_record) {
    on_record(Record{source, split}, split.offset);
    return Status::Ok();
  }
};

// A mapper, as internal::MapRecords wants one, whose records go to a Use.
template <class Format, class Use>
struct RecordReader {
  using Input = Format;
  void Map(const typename Format::Record& record, TaskContext& context) { use(record, context.input_offset()); }
  const Use& use;
};

// Gives the records of input `i` of the map to use(record, offset of its first byte).
template <class Format, class Use>
Status ReadInput(MapAttempt& attempt, std::size_t i, const Use& use) {
  RecordReader<Format, Use> reader{use};
  return internal::MapRecords(reader, attempt.context, attempt, i, i + 1);
}

}  // namespace millrace::streaming
