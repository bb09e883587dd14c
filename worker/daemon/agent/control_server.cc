// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/control_server.h"

#include <utility>

#include "base/rpc/calls.h"
#include "base/rpc/status_codec.h"
#include "dfs/wire/messages.h"

namespace millrace::worker {
namespace {

dfs::StoredBlock Read(dfs::wire::Block::Reader in) { return ReadMessage<dfs::StoredBlock>(in, dfs::kBlockFields); }

}  // namespace

WorkerAgent& ControlServer::agent() const {
  if (*agent_ == nullptr) kj::throwFatalException(rpc::ToException(Unavailable("the worker stops")));
  return **agent_;
}

kj::Promise<void> ControlServer::setUpJob(SetUpJobContext context) {
  const auto params = context.getParams();
  const auto path = params.getExecutable().asChars();
  agent().SetUpJob(params.getSetup(),
                   {{path.begin(), path.size()}, params.getExecutableBytes(), params.getExecutableCrc()});
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::launchMap(LaunchMapContext context) {
  const auto params = context.getParams();
  AttemptId attempt = FromWire(params.getAttempt());
  attempt.task.kind = TaskKind::kMap;
  agent().attempts().LaunchMap(attempt, params.getInputs(), params.getCrossing(), params.getLeftOut());
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::launchReduce(LaunchReduceContext context) {
  const auto params = context.getParams();
  AttemptId attempt = FromWire(params.getAttempt());
  attempt.task.kind = TaskKind::kReduce;
  agent().attempts().LaunchReduce(attempt, params.getMaps(), params.getComputing(), params.getAsksToCompute());
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::compute(ComputeContext context) {
  const auto params = context.getParams();
  agent().attempts().GrantCompute(FromWire(params.getAttempt()), params.getComputing());
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::mapOutputs(MapOutputsContext context) {
  const auto params = context.getParams();
  std::vector<AnnouncedOutput> ready;
  for (const auto output : params.getReady()) {
    ready.push_back({FromWire(output.getAttempt()), output.getHost(), output.getPort(), NodeId{output.getNode()}});
  }
  std::vector<AttemptId> gone;
  for (const auto attempt : params.getGone()) gone.push_back(FromWire(attempt));
  std::vector<std::uint32_t> left_out;
  for (const std::uint32_t map : params.getLeftOut()) left_out.push_back(map);
  agent().MapOutputs(JobId{params.getJob()}, ready, gone, left_out);
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::copyOutput(CopyOutputContext context) {
  const auto output = context.getParams().getOutput();
  return agent().CopyOutput({FromWire(output.getAttempt()), output.getHost(), output.getPort(), {}});
}

kj::Promise<void> ControlServer::kill(KillContext context) {
  agent().attempts().Kill(FromWire(context.getParams().getAttempt()), context.getParams().getReason());
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::forgetJob(ForgetJobContext context) {
  agent().ForgetJob(JobId{context.getParams().getJob()});
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::replicate(ReplicateContext context) {
  const auto params = context.getParams();
  std::vector<dfs::ReplicaHost> targets;
  for (const auto place : params.getTargets()) targets.push_back(dfs::FromWire(place));
  const auto token = params.getToken().asChars();
  agent().Replicate(Read(params.getBlock()), std::move(targets), {token.begin(), token.size()});
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::allowWrite(AllowWriteContext context) {
  const auto token = context.getParams().getToken().asChars();
  agent().AllowWrite(context.getParams().getBlock(), {token.begin(), token.size()});
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::deleteBlocks(DeleteBlocksContext context) {
  std::vector<std::uint64_t> ids;
  for (const std::uint64_t id : context.getParams().getBlocks()) ids.push_back(id);
  if (context.getParams().getUnknown()) {
    agent().TrashBlocks(std::move(ids));
  } else {
    agent().DeleteBlocks(std::move(ids));
  }
  return kj::READY_NOW;
}

kj::Promise<void> ControlServer::verifyBlock(VerifyBlockContext context) {
  rpc::AllowCancellation(context);
  auto checked = agent().VerifyBlock(context.getParams().getBlock());
  return checked.then([context](dfs::wire::ReplicaState state) mutable { context.getResults().setState(state); });
}

kj::Promise<void> ControlServer::readLog(ReadLogContext context) {
  rpc::AllowCancellation(context);
  const auto params = context.getParams();
  auto read = agent().ReadLog(FromWire(params.getAttempt()), params.getStream() == wire::LogStream::STDERR,
                              params.getOffset(), params.getLimit());
  return read.then([context](LogPiece piece) mutable {
    auto results = context.getResults();
    results.setData({reinterpret_cast<const kj::byte*>(piece.data.data()), piece.data.size()});
    results.setSize(piece.size);
  });
}

kj::Promise<void> ControlServer::ping(PingContext) {
  (void)agent();
  return kj::READY_NOW;
}

}  // namespace millrace::worker
