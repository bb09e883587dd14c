// The segments of a reduce: ranges of files on this machine, mapped by file (a file may hold many), checked, ready to
// be merged or combined. Thread rule: one thread.
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
  // kCorrupt, naming file and offset, for a segment that does not match its checksum or lies outside of its file.
  [[nodiscard]] static Result<MappedSegments> Open(const std::vector<ReduceSegment>& segments);

  // The segments of a run file.
  [[nodiscard]] static Result<MappedSegments> OpenRun(const std::string& path);

  // In the order given; this outlives them.
  [[nodiscard]] std::vector<run::SegmentCursor> Cursors() const;
  [[nodiscard]] std::uint64_t raw_bytes() const { return raw_bytes_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  // The records of the segment that has most.
  [[nodiscard]] std::uint64_t most_records() const { return most_records_; }
  // Every segment's records come by key.
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
