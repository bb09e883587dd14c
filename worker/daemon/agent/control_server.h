// SPDX-License-Identifier: Apache-2.0
// ControlServer is the capability through which the master calls the worker. It passes the calls on to a WorkerAgent.
// Thread rule: the control thread.
#pragma once

#include <memory>

#include "base/protocol/worker.capnp.h"
#include "worker/daemon/agent/agent.h"

namespace millrace::worker {

class ControlServer final : public wire::WorkerControl::Server {
 public:
  // `agent` points to null once the agent is gone; calls then fail with kUnavailable.
  explicit ControlServer(std::shared_ptr<WorkerAgent*> agent) : agent_(std::move(agent)) {}

 protected:
  kj::Promise<void> setUpJob(SetUpJobContext context) override;
  kj::Promise<void> launchMap(LaunchMapContext context) override;
  kj::Promise<void> launchReduce(LaunchReduceContext context) override;
  kj::Promise<void> compute(ComputeContext context) override;
  kj::Promise<void> copyOutput(CopyOutputContext context) override;
  kj::Promise<void> allowWrite(AllowWriteContext context) override;
  kj::Promise<void> mapOutputs(MapOutputsContext context) override;
  kj::Promise<void> kill(KillContext context) override;
  kj::Promise<void> forgetJob(ForgetJobContext context) override;
  kj::Promise<void> replicate(ReplicateContext context) override;
  kj::Promise<void> deleteBlocks(DeleteBlocksContext context) override;
  kj::Promise<void> verifyBlock(VerifyBlockContext context) override;
  kj::Promise<void> readLog(ReadLogContext context) override;
  kj::Promise<void> ping(PingContext context) override;

 private:
  [[nodiscard]] WorkerAgent& agent() const;  // throws kUnavailable
  std::shared_ptr<WorkerAgent*> agent_;
};

}  // namespace millrace::worker
