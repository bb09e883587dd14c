// ReduceCopy: the copy phase of one reduce attempt, in the daemon: fetches its partition of every map's output, in parallel
// over workers and in batches per worker, into one file; segments on this worker are not copied but read in place.
//
// Bounded: at most `max_connections` fetches at once, one a host; retries with back-off; after `retries` failures of one map's
// output `failed` is called for it and it waits for another announcement. Every segment is checked against its crc on arrival.
// Thread rule: calls from one thread (the control thread); callbacks come on the bulk plane's threads.
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
#include "worker/shuffle/map_output_server.h"

namespace millrace::shuffle {

struct Source {
  MapAttempt map;
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
  unsigned max_connections = 5;
  unsigned retries = 4;
  Micros first_back_off = 200 * kMillisecond;
  Micros stall = 20 * kSecond;
};

struct CopyCallbacks {
  std::function<void(std::vector<CopiedSegment> by_map, std::uint64_t bytes_fetched)> complete;  // once, at the end
  std::function<void(const MapAttempt& map, const Status& why)> failed;   // this output cannot be had
  std::function<void(const Status& why)> broken;                          // cannot go on: own disk full, ...; once, at the end
};

class ReduceCopy {
 public:
  // `file`: created when the first remote segment arrives. `maps`: so many segments are wanted, one for each map task.
  ReduceCopy(net::BulkServer& server, const MapOutputServer& local, std::uint32_t partition, std::uint32_t maps, std::string file,
             CopyOptions options, CopyCallbacks callbacks, Log log);
  ~ReduceCopy();  // stops: when it returns no callback runs any more

  void Ready(const std::vector<Source>& sources);          // a map announced again (another attempt) replaces an uncopied one
  void Gone(const std::vector<MapAttempt>& attempts);      // not to be fetched; what was copied of it stays good
  [[nodiscard]] std::uint32_t copied() const;              // segments
  [[nodiscard]] std::uint64_t bytes_fetched() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::shuffle
