// The segments of a reduce: ranges of files on this machine, mapped by file (a file may hold many), checked, ready to
// merge.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "client/api/task_messages.h"
#include "worker/run/run_file.h"

namespace millrace {

class MappedSegments {
 public:
  // kCorrupt, naming file and offset, for a segment that does not match its checksum or lies outside of its file.
  [[nodiscard]] static Result<MappedSegments> Open(const std::vector<ReduceSegment>& segments);

  // In the order given; this outlives them.
  [[nodiscard]] std::vector<run::SegmentCursor> Cursors() const;
  [[nodiscard]] std::uint64_t raw_bytes() const { return raw_bytes_; }

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
  std::uint64_t raw_bytes_ = 0;
};

}  // namespace millrace
