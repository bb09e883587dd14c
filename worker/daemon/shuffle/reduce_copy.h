// ReduceCopy: the copy phase of one reduce attempt, in the daemon: fetches its partition of every map's output, in
// parallel over workers and in batches per worker, into one file; segments on this worker are not copied but read in
// place (whoever reads them checks them).
//
// Bounded: at most `max_connections` fetches at once, one a host, each with a buffer of 256 KiB; how many of these pay
// is found out (fetch_limit.h). Retries with back-off; after `retries` failures of
// one map's output, or as soon as its worker says that it has none, `failed` is called for it, and again after each
// later try, as long as no other source is announced (copy_book.h). Every segment is checked against its crc on
// arrival. A connection that is lost counts against the output that was under way, a worker that cannot be reached
// against all that was to be fetched there. Thread rule: calls from one thread (the control thread), not from a
// callback; callbacks come on the bulk plane's threads, one at a time. Server and MapOutputServer outlive it; the
// server may have been stopped.
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
  bool local = false;  // held by our own MapOutputServer
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
  FetchMeter* meter = nullptr;  // told of all that comes, if given; outlives the copy and its server's threads
};

struct CopyCallbacks {
  // Once, at the end. Of the files named, each exists.
  std::function<void(std::vector<CopiedSegment> by_map, std::uint64_t bytes_fetched)> complete;
  // This output cannot be had, so far. May come again.
  std::function<void(const AttemptId& map, const Status& why)> failed;
  // Cannot go on: own disk full, ...; once, at the end.
  std::function<void(const Status& why)> broken;
};

class ReduceCopy {
 public:
  // `file`: created when the first remote segment arrives, an existing one replaced. `maps`: so many segments are
  // wanted, one for each map task that is not left out; none: complete at once.
  ReduceCopy(net::BulkServer& server, const MapOutputServer& local, std::uint32_t partition, std::uint32_t maps,
             std::string file, CopyOptions options, CopyCallbacks callbacks, Log log);
  ~ReduceCopy();  // stops: when it returns no callback runs any more

  // A map announced again (another attempt) replaces an uncopied one.
  void Ready(const std::vector<Source>& sources);
  void Gone(const std::vector<AttemptId>& attempts);      // not to be fetched; what was copied of it stays good
  void LeaveOut(const std::vector<std::uint32_t>& maps);  // of these map tasks none is wanted but what was copied
  [[nodiscard]] std::uint32_t copied() const;             // segments
  [[nodiscard]] std::uint64_t bytes_fetched() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::shuffle
