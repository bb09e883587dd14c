// SPDX-License-Identifier: Apache-2.0
// The parts of a ReduceCopy: its schedule, its file and its connections. reduce_copy.cc decides which outputs are
// fetched and reports the outcome; segment_fetch.cc fetches them.
//
// All code runs on one strand, except that disk threads write the pieces. Any code that touches the file, the map
// output server or a callback holds a Pass of the gate, so that after its Close only sockets may still be winding down.
// While they do, a coroutine keeps its Impl alive.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/net/bulk_handler.h"
#include "worker/daemon/shuffle/copy_file.h"
#include "worker/daemon/shuffle/fetch_limit.h"
#include "worker/daemon/shuffle/fetch_schedule.h"
#include "worker/daemon/shuffle/gate.h"
#include "worker/daemon/shuffle/reduce_copy.h"

namespace millrace::shuffle {

namespace asio = boost::asio;
using net::Awaitable;
using net::Wire;

struct ReduceCopy::Impl : std::enable_shared_from_this<Impl> {
  // The outcome of fetching one segment.
  struct Fetched {
    Status status;
    bool in_step = false;   // the connection is at the next segment header
    bool for_good = false;  // asking again gives the same result
  };

  Impl(net::BulkServer& server, const MapOutputServer& local_outputs, std::uint32_t of_partition, std::uint32_t maps,
       const sandbox::TaskDirectories& directories, std::string path, CopyOptions given, CopyCallbacks told, Log log_to)
      : threads(server.threads()),
        strand(threads.MakeStrand()),
        timer(strand),
        local(local_outputs),
        partition(of_partition),
        options(given),
        callbacks(std::move(told)),
        log(std::move(log_to)),
        file(directories, std::move(path)),
        schedule(partition, maps, options.retries, options.first_back_off),
        limit(options.max_connections) {}

  template <class F>
  void Post(F f) {
    asio::post(strand, [self = shared_from_this(), f = std::move(f)]() mutable {
      const Gate::Pass pass(self->gate);
      if (pass && !self->ended) f(*self);
    });
  }

  void Announced(const std::vector<Source>& sources);
  void LookUp(const Source& source);
  void Schedule();
  void SetTimer();
  void Connections(unsigned now);

  // A worker to which there is a connection, or will be.
  struct Guest {
    std::shared_ptr<Wire> wire;  // null while it is connecting
    bool given_up = false;       // it has no output that is still wanted
  };
  static Awaitable<void> Visit(std::shared_ptr<Impl> self, FetchPlace place, std::shared_ptr<Guest> guest);
  Awaitable<void> FetchAll(Guest& guest, FetchPlace place);
  void Withdraw(const std::vector<AttemptId>& attempts);
  void LeaveOut(const std::vector<std::uint32_t>& maps);
  void LeaveUnwanted();  // disconnects from workers that have no wanted output
  void Left(const FetchPlace& place);
  Awaitable<bool> FetchBatch(Wire& wire, std::vector<Ticket> batch, char* buffer);
  Awaitable<Status> Ask(Wire& wire, const std::vector<Ticket>& batch);
  Awaitable<Fetched> FetchSegment(Wire& wire, const Ticket& ticket, bool follows, char* buffer);
  Awaitable<Status> ReceiveBytes(Wire& wire, CopyFile::Extent extent, char* buffer, std::uint32_t* crc);
  void Arrived(std::size_t size);
  Awaitable<Status> ReadMetered(Wire& wire, char* out, std::size_t size, bool counts);
  [[nodiscard]] Status WritePiece(std::string_view piece, std::uint64_t offset);
  [[nodiscard]] std::size_t BatchLimit() const;

  void Keep(CopiedSegment segment);
  void Failed(const Ticket& ticket, const Status& why, bool for_good);
  void Tell(const AttemptId& map, const Status& why);
  void Break(const Status& why);
  void FinishIfComplete();
  void End();

  net::BulkServer::Threads& threads;
  const net::Executor strand;
  asio::steady_timer timer;  // runs until the next output's rest ends
  const MapOutputServer& local;
  const std::uint32_t partition;
  const CopyOptions options;
  const CopyCallbacks callbacks;
  const Log log;
  CopyFile file;
  FetchSchedule schedule;
  Gate gate;
  std::map<FetchPlace, std::shared_ptr<Guest>> guests;
  FetchLimit limit;
  unsigned connections = 0;
  std::optional<JobId> metered;  // the job under which this copy is known to the meter
  bool ended = false;            // complete, broken or destroyed
  std::uint64_t fetched_segments = 0;
  std::atomic<std::uint32_t> copied{0};
  std::atomic<std::uint64_t> bytes_fetched{0};
};

}  // namespace millrace::shuffle
