// SPDX-License-Identifier: Apache-2.0
// SegmentPump sends the answer to one fetch: segment headers, and the segments' bytes from their files. One file is
// open at a time. Thread rule: one thread at a time; Step is for a disk thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/net/outlet.h"
#include "base/status.h"
#include "worker/daemon/shuffle/fetch_wire.h"
#include "worker/sandbox/task_directories.h"
#include "worker/task/run/run_file.h"

namespace millrace::shuffle {

// A run file that is being served. It is opened for each answer, since a worker serves more run files than it may have
// open.
struct ServedRun {
  // Looks at the file, and reads its index. `partitions` is the number of partitions of the job.
  static Result<ServedRun> Look(const sandbox::TaskDirectories& directories, const std::string& path,
                                std::uint32_t partitions);
  // Returns kNotFound if the file is no longer the one that Look saw.
  [[nodiscard]] Result<Fd> Open(const sandbox::TaskDirectories& directories) const;

  std::string path;
  std::uint64_t device = 0, inode = 0, size = 0;
  std::uint64_t bytes_on_disk = 0;
  std::vector<run::SegmentInfo> segments;  // by partition
};

class SegmentPump {
 public:
  // The answer to one request for a segment.
  struct Answer {
    SegmentHeader header;
    std::shared_ptr<const ServedRun> run;  // null if the header's status is a failure
  };
  SegmentPump(std::vector<Answer> items, sandbox::TaskDirectories directories);

  // Sends until the outlet takes nothing further for now, and returns false; returns true once everything is sent.
  Result<bool> Step(net::Outlet& outlet);
  // Returns the bytes of segments that were sent since the last call.
  [[nodiscard]] std::uint64_t TakeSent() { return std::exchange(sent_, 0); }

 private:
  void Load();  // loads the current item; turns it into a failure if its file is gone or replaced
  Result<bool> SendHeader(net::Outlet& outlet);
  Result<bool> SendBytes(net::Outlet& outlet);

  std::vector<Answer> items_;
  const sandbox::TaskDirectories directories_;
  bool loaded_ = false;
  Fd file_;  // of the current item
  std::size_t item_ = 0;
  std::string header_;
  std::size_t header_sent_ = 0;
  std::uint64_t at_ = 0, end_ = 0;  // in the item's file
  std::uint64_t sent_ = 0;
};

}  // namespace millrace::shuffle
