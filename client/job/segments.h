// SPDX-License-Identifier: Apache-2.0
// The segments of a reduce: ranges of files on this machine. Each file is mapped once (it may hold many segments), and
// the segments are checked and ready to be merged or combined.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "worker/task/run/run_file.h"

namespace millrace {

struct ReduceSegment {
  std::string file;
  run::SegmentInfo info;
};

class MappedSegments {
 public:
  // Maps the segments. Returns kCorrupt, with file and offset, if a segment does not match its checksum or lies outside
  // of its file.
  [[nodiscard]] static Result<MappedSegments> Open(const std::vector<ReduceSegment>& segments);

  // Maps the segments of a run file.
  [[nodiscard]] static Result<MappedSegments> OpenRun(const std::string& path);

  // Returns a cursor for each segment, in the order given. Requires: this object outlives the cursors.
  [[nodiscard]] std::vector<run::SegmentCursor> Cursors() const;
  [[nodiscard]] std::uint64_t raw_bytes() const { return raw_bytes_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  // Returns the number of records in the segment that has the most.
  [[nodiscard]] std::uint64_t most_records() const { return most_records_; }
  // Returns true if the records of every segment are sorted by key.
  [[nodiscard]] bool by_key() const { return by_key_; }

 private:
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };
  struct Piece {
    std::string_view stored;
    bool compressed = false;
    std::string name;
  };

  std::map<std::string, MappedFile> files_;
  std::vector<Piece> pieces_;
  std::uint64_t raw_bytes_ = 0, records_ = 0, most_records_ = 0;
  bool by_key_ = true;
};

}  // namespace millrace
