// SPDX-License-Identifier: Apache-2.0
// Fleet runs many workers in one process. To the master each is a worker like any other: it has a connection,
// registers, sends heartbeats, takes launches and reports successes, all with the code of the real daemon
// (worker/daemon/agent). Behind the agent nothing is real: there are no task processes, blocks or map outputs. Thread
// rule: one thread, that of the event loop.
#pragma once

#include <kj/async-io.h>
#include <kj/async.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids/time.h"
#include "base/rpc/task_group.h"
#include "base/rpc/transport.h"
#include "tests/bench/fleet/timed_runner.h"

namespace millrace::bench {

struct FleetOptions {
  std::string master;  // host:port
  std::int64_t workers = 0, racks = 0;
  std::int64_t map_slots = 0, reduce_slots = 0;  // of each worker
  Micros work = 0;                               // the time that each attempt takes
};

class Fleet {
 public:
  // Requires: `io` outlives this.
  Fleet(kj::AsyncIoContext& io, const FleetOptions& options);
  ~Fleet() noexcept;

  // Resolves when all workers have registered with the master. Requires: Registered is called once.
  [[nodiscard]] kj::Promise<void> Registered();
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  struct Worker;
  kj::Promise<void> Open(const FleetOptions& options);
  kj::Promise<void> TakeCalls();
  kj::Promise<void> Answer(kj::Own<kj::AsyncIoStream> call);
  void NoteRegistered();

  kj::AsyncIoContext& io_;
  rpc::TcpDialer dialer_;
  Tally tally_;
  kj::Own<kj::ConnectionReceiver> port_;
  std::size_t missing_;  // workers that have not registered yet
  kj::PromiseFulfillerPair<void> all_here_ = kj::newPromiseAndFulfiller<void>();
  std::vector<std::unique_ptr<Worker>> workers_;
  rpc::TaskGroup answers_;
  kj::Promise<void> open_ = nullptr;  // last: it uses the members above
};

}  // namespace millrace::bench
