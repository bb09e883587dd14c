// SPDX-License-Identifier: Apache-2.0
// MapOutputServer serves segments of the run files that map attempts left on this worker, with sendfile. A fetch names
// a job, a partition and a list of map attempts. The reply contains the segments as stored, one after the other, each
// after its SegmentInfo; or a status in place of a segment (fetch_wire.h). A run file is open while a segment of it is
// sent. If the file is removed meanwhile, the segment is sent to its end; a file that was replaced by another is not
// sent. Thread rule: any thread; the bulk server outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/ids/ids.h"
#include "base/log.h"
#include "base/net/bulk_server.h"
#include "base/status.h"
#include "worker/sandbox/task_directories.h"
#include "worker/task/run/run_file.h"

namespace millrace::shuffle {

class MapOutputServer {
 public:
  // Registers its operation. The run files lie in `directories`.
  MapOutputServer(net::BulkServer& server, const sandbox::TaskDirectories& directories, Log log);
  ~MapOutputServer();

  // Opens the file and reads its index; returns kCorrupt if it is not a run file with this many partitions. Reads and
  // allocates no more than an index of this many partitions takes, whatever the file claims. Requires: the file stays
  // until Remove.
  Status Add(const AttemptId& attempt, const std::string& path, std::uint32_t partitions);
  void Remove(const AttemptId& attempt);
  void RemoveJob(JobId job);
  // Returns the bytes of disk that the job's outputs took when they were added.
  [[nodiscard]] std::uint64_t BytesOf(JobId job) const;

  // Returns the bytes of segments that were sent to other workers since this was made.
  [[nodiscard]] std::uint64_t SentBytes() const;

  // The place of a segment on this machine, for a reduce on the same worker, which reads it in place.
  struct Local {
    std::string path;
    run::SegmentInfo segment;
  };
  [[nodiscard]] std::optional<Local> Find(const AttemptId& attempt, std::uint32_t partition) const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::shuffle
