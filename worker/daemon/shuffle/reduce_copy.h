// SPDX-License-Identifier: Apache-2.0
// ReduceCopy is the copy phase of one reduce attempt, in the daemon. It fetches its partition of every map's output, in
// parallel over workers and in batches per worker, into one file. Segments on this worker are not copied: the reduce
// reads them in place, and checks them itself.
//
// It is bounded: at most `max_connections` fetches run at once, one for each host, each with a buffer of 256 KiB.
// FetchLimit finds out how many of them pay (fetch_limit.h). It retries with back-off. `failed` is called for a map
// after `retries` failures of its output, or as soon as the worker answers that it does not have the output. It is
// called again after each later try, as long as no other source is announced (fetch_schedule.h). Every fetched segment
// is checked against its crc on arrival. A lost connection counts against the output that was under way; an unreachable
// worker counts against all outputs that were to be fetched from it.
//
// Requires: the server, the MapOutputServer and the directories outlive this; the server may have been stopped. Thread
// rule: calls from one thread (the control thread), not from a callback; callbacks come on the bulk plane's threads,
// one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/net/bulk_server.h"
#include "base/status.h"
#include "worker/daemon/shuffle/fetch_meter.h"
#include "worker/daemon/shuffle/map_output_server.h"

namespace millrace::shuffle {

struct Source {
  AttemptId map;
  std::string host;
  std::uint16_t port = 0;
  bool local = false;  // this worker's own MapOutputServer serves the output
};

struct CopiedSegment {
  std::uint32_t map = 0;
  std::string file;
  run::SegmentInfo segment;  // offset within `file`
};

struct CopyOptions {
  unsigned max_connections = 16;
  unsigned retries = 4;
  Micros first_back_off = 200 * kMillisecond;
  Micros stall = 20 * kSecond;
  FetchMeter* meter = nullptr;       // if given, counts all arrivals; it outlives the copy and its server's threads
  std::uint64_t reserved_bytes = 0;  // bytes that stay free when an output is copied whole (output_copy.h)
};

struct CopyCallbacks {
  // Called once, at the end of a complete copy. Each file that it names exists.
  std::function<void(std::vector<CopiedSegment> by_map, std::uint64_t bytes_fetched)> complete;
  // Called when this output cannot be fetched for now; perhaps several times for one output.
  std::function<void(const AttemptId& map, const Status& why)> failed;
  // Called once, at the end, if the copy cannot continue: the worker's own disk is full, ...
  std::function<void(const Status& why)> broken;
};

class ReduceCopy {
 public:
  // `file`, in one of the `directories`, is created when the first remote segment arrives, and replaces anything at
  // that path. `maps` is the number of wanted segments, one for each map task that is not left out; if it is 0, the
  // copy is complete at once.
  ReduceCopy(net::BulkServer& server, const MapOutputServer& local, std::uint32_t partition, std::uint32_t maps,
             const sandbox::TaskDirectories& directories, std::string file, CopyOptions options,
             CopyCallbacks callbacks, Log log);
  ~ReduceCopy();  // stops the copy: once it returns, no callback runs

  // Announces sources. The new source of a map that is announced again (with another attempt) replaces the old one,
  // unless the map is copied already.
  void Ready(const std::vector<Source>& sources);
  void Gone(const std::vector<AttemptId>& attempts);  // these outputs are no longer fetched; copied segments stay valid
  void LeaveOut(
      const std::vector<std::uint32_t>& maps);  // these map tasks are no longer wanted; segments that were copied stay
  [[nodiscard]] std::uint32_t copied() const;   // segments
  [[nodiscard]] std::uint64_t bytes_fetched() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::shuffle
