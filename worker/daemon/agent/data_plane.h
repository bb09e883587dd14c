// SPDX-License-Identifier: Apache-2.0
// DataPlane is the agent's view of the daemon's bulk plane, which serves map outputs, copies them for reduces, and
// replicates blocks. The real plane is in bulk_plane.h, and the plane for driven time in
// tests/fakes/synthetic_worker.h. Thread rule: calls and callbacks are on the control thread; no callback comes from
// inside a call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/protocol/attempt_wire.h"
#include "base/status.h"
#include "dfs/data/block_store.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/write_order.h"
#include "worker/daemon/shuffle/reduce_copy.h"

namespace millrace::worker {

// The copy phase of one reduce attempt. Destroying it stops it, and no callback comes afterwards. A callback may
// destroy it.
class ReduceCopier {
 public:
  virtual ~ReduceCopier() = default;
  virtual void Ready(const std::vector<shuffle::Source>& sources) = 0;
  virtual void Gone(const std::vector<AttemptId>& maps) = 0;
  virtual void LeaveOut(const std::vector<std::uint32_t>& maps) = 0;
  [[nodiscard]] virtual std::uint32_t copied() const = 0;  // segments
  [[nodiscard]] virtual std::uint64_t bytes_fetched() const = 0;
};

struct BlockEvents {
  std::function<void(const dfs::StoredBlock&)> received;  // a block was finished on this node
  std::function<void(std::uint64_t id)> corrupt;          // a read failed its checksum on this node
  // A transfer could not connect to the bulk server of another worker.
  std::function<void(const std::string& host, std::uint16_t port)> unreached = {};
};

class DataPlane {
 public:
  virtual ~DataPlane() = default;
  // Sends block events to `events` from now on; empty functions are not called.
  virtual void Observe(BlockEvents events) = 0;
  // Serves the run file at `path` as the output of a map attempt until that output is removed. `partitions` is the
  // number of partitions of its job.
  virtual void AddMapOutput(const AttemptId& map, std::uint32_t partitions, const std::string& path,
                            std::function<void(Status)> then) = 0;
  // Copies the run file of a map attempt from another worker into `path`, and serves it. `partitions` is as in
  // AddMapOutput. Requires: the directory of `path` exists, and nobody else writes there.
  virtual void CopyMapOutput(const shuffle::Source& source, std::uint32_t partitions, const std::string& path,
                             std::function<void(Status)> then) = 0;
  virtual void RemoveMapOutput(const AttemptId& map) = 0;
  virtual void RemoveMapOutputs(JobId job) = 0;
  // Returns the bytes of disk that the job's outputs took when they began to be served.
  [[nodiscard]] virtual std::uint64_t ServedBytes(JobId job) const = 0;
  // Starts a copy into `file`. Callbacks are as for shuffle::ReduceCopy, but come on the control thread. Requires: the
  // directory of `file` exists.
  [[nodiscard]] virtual std::unique_ptr<ReduceCopier> StartCopy(const AttemptId& reduce, std::uint32_t maps,
                                                                std::string file, shuffle::CopyCallbacks callbacks) = 0;
  // Returns the network figures measured by the job's copies or, if those are too few, by the copies of all jobs
  // (shuffle::FetchMeter).
  [[nodiscard]] virtual shuffle::FetchMeter::Figures FetchFigures(JobId job) const = 0;
  // Copies the block to `targets`, with the token of the master's order (dfs/wire/write_order.h).
  virtual void Replicate(const dfs::StoredBlock& block, std::vector<dfs::ReplicaHost> targets, std::string token) = 0;
  // Makes this process prove, to a master that dials back, that it drew the number.
  virtual void ShowIncarnation(std::uint64_t /*incarnation*/) {}
  // These calls do the same as the calls of that name in BlockServer.
  virtual void UseKeys(dfs::BlockKeys /*keys*/) {}
  virtual void AllowWrite(std::uint64_t /*block*/, std::string /*token*/) {}
};

}  // namespace millrace::worker
