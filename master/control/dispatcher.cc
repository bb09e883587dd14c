// SPDX-License-Identifier: Apache-2.0
#include "master/control/dispatcher.h"

#include <algorithm>

#include "base/ids/ids.h"
#include "base/rpc/calls.h"
#include "base/rpc/status_codec.h"
#include "master/control/wire_codec.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::master {
namespace {

constexpr kj::Duration kCallLimit = 30 * kj::SECONDS;
constexpr kj::Duration kAllowLimit = 5 * kj::SECONDS;   // less than a writer waits for its call
constexpr kj::Duration kCheckLimit = 30 * kj::MINUTES;  // long, since whole blocks are read one after the other
constexpr kj::Duration kOutputLimit = 2 * kj::MINUTES;  // a node that leaves has no longer
constexpr std::size_t kOutputsPerMessage = 2000;
constexpr std::size_t kGonePerMessage = 20'000;
constexpr std::size_t kLeftOutPerMessage = 20'000;
constexpr std::size_t kDeletesPerMessage = 10'000;

}  // namespace

Dispatcher::Dispatcher(kj::Timer& timer, const FileSystem& files, const NodeTable& nodes, const JobTracker& jobs,
                       const BlockTokens& tokens, kj::TaskSet& tasks, Refused refused, OutputCopied output_copied,
                       Log log)
    : timer_(timer),
      files_(files),
      nodes_(nodes),
      jobs_(jobs),
      tokens_(tokens),
      tasks_(tasks),
      refused_(std::move(refused)),
      output_copied_(std::move(output_copied)),
      log_(std::move(log)),
      announcements_(timer, tasks, [this](const OutputsOrder& order) { Tell(order); }) {}

void Dispatcher::Connect(NodeId node, worker::wire::WorkerControl::Client control) {
  Disconnect(node);
  peers_.emplace(node, Peer{std::move(control), {}});
}

void Dispatcher::Disconnect(NodeId node) {
  peers_.erase(node);
  announcements_.Forget(node);
}

kj::Maybe<worker::wire::WorkerControl::Client> Dispatcher::Find(NodeId node) {
  const auto it = peers_.find(node);
  if (it == peers_.end()) return nullptr;
  return it->second.control;
}

void Dispatcher::Send(const Step& step) {
  for (const KillOrder& order : step.kills) {
    const auto it = peers_.find(order.node);
    if (it == peers_.end()) continue;
    auto request = it->second.control.killRequest();
    ToWire(order.attempt, request.initAttempt());
    request.setReason(order.reason);
    Detach("kill an attempt", order.node, request.send().ignoreResult());
  }
  for (const ForgetOrder& order : step.forgets) {
    announcements_.Forget(order.node, order.job);
    const auto it = peers_.find(order.node);
    if (it == peers_.end()) continue;
    it->second.set_up.erase(order.job);
    auto request = it->second.control.forgetJobRequest();
    request.setJob(order.job.value);
    Detach("forget a job", order.node, request.send().ignoreResult());
  }
  for (const LaunchOrder& order : step.launches) Launch(order);
  for (const ComputeOrder& order : step.computes) Grant(order);
  for (const OutputCopyOrder& order : step.output_copies) CopyOutput(order);
  for (const auto& [to, order] : step.outputs) {
    const sched::JobState* job = jobs_.cluster().FindJob(order.job);
    announcements_.Add(order, job != nullptr && job->progress.maps_done == job->progress.maps);
  }
}

void Dispatcher::SetUp(NodeId node, Peer& peer, const JobRecord& record) {
  if (!peer.set_up.insert(record.id).second) return;
  auto request = peer.control.setUpJobRequest();
  WriteSetup(record, request.initSetup());
  request.setExecutable(ToData(record.request.executable.path));
  request.setExecutableBytes(record.request.executable.bytes);
  request.setExecutableCrc(record.request.executable.crc);
  Detach("set up " + ToText(record.id), node, request.send().ignoreResult());
}

void Dispatcher::Launch(const LaunchOrder& order) {
  const auto it = peers_.find(order.node);
  const std::vector<MapSplits>* splits = jobs_.Splits(order.attempt.task.job);
  if (it == peers_.end() || splits == nullptr) return;  // the next registration settles it, or the job has ended
  const JobRecord& record = *jobs_.FindRecord(order.attempt.task.job);
  SetUp(order.node, it->second, record);
  kj::Promise<void> call = nullptr;
  if (order.attempt.task.kind == TaskKind::kMap) {
    auto request = it->second.control.launchMapRequest();
    ToWire(order.attempt, request.initAttempt());
    const MapSplits& of_map = splits->at(order.attempt.task.index);
    WriteInputs(of_map, files_, nodes_, nodes_.Find(order.node), tokens_.GrantTo(record.request.owner),
                request.initInputs(static_cast<unsigned>(of_map.size())));
    request.setCrossing(jobs_.CrossingShare(order.node));
    const std::vector<sched::RecordPlace> left_out = jobs_.LeftOutBy(order.attempt);
    Write(left_out, request.initLeftOut(static_cast<unsigned>(left_out.size())));
    call = request.send().ignoreResult();
  } else {
    auto request = it->second.control.launchReduceRequest();
    ToWire(order.attempt, request.initAttempt());
    request.setMaps(record.figures.maps);
    request.setComputing(order.computing);
    request.setAsksToCompute(order.asks_to_compute);
    call = request.send().ignoreResult();
    announcements_.Forget(order.node, order.attempt.task.job);  // the step has all outputs for the new reduce
  }
  tasks_.add(rpc::WithDeadline(timer_, kCallLimit, "launch " + ToText(order.attempt), std::move(call))
                 .catch_([this, order](kj::Exception&& e) {
                   const Status why = rpc::FromException(e);
                   if (why.code() == StatusCode::kUnavailable) return;
                   refused_(order.node, order.attempt, why.message());
                 }));
}

void Dispatcher::CopyOutput(const OutputCopyOrder& order) {
  const auto it = peers_.find(order.to);
  const JobRecord* job = jobs_.FindRecord(order.map.task.job);
  const NodeRecord* from = nodes_.Find(order.from);
  kj::Promise<void> call = nullptr;
  if (it == peers_.end() || job == nullptr || from == nullptr) {
    call = rpc::ToException(Unavailable("the worker, or the job, is gone"));
  } else {
    SetUp(order.to, it->second, *job);
    auto request = it->second.control.copyOutputRequest();
    auto output = request.initOutput();
    ToWire(order.map, output.initAttempt());
    output.setNode(order.from.value);
    output.setHost(from->facts.host);
    output.setPort(from->facts.port);
    call = rpc::WithDeadline(timer_, kOutputLimit, "copy a map output", request.send().ignoreResult());
  }
  tasks_.add(call.then([this, order] { output_copied_(order, Status::Ok()); },
                       [this, order](kj::Exception&& e) { output_copied_(order, rpc::FromException(e)); }));
}

// A worker that does not get it hears of it when it registers again (JobTracker::NodeRegistered).
void Dispatcher::Grant(const ComputeOrder& order) {
  const auto it = peers_.find(order.node);
  if (it == peers_.end()) return;
  auto request = it->second.control.computeRequest();
  ToWire(order.attempt, request.initAttempt());
  request.setComputing(order.computing);
  Detach("let a reduce compute", order.node, request.send().ignoreResult());
}

void Dispatcher::Tell(const OutputsOrder& order) {
  const auto it = peers_.find(order.node);
  if (it == peers_.end() || jobs_.Splits(order.job) == nullptr) return;
  std::size_t begin = 0, gone_begin = 0, left_out_begin = 0;
  do {
    const std::size_t count = std::min(kOutputsPerMessage, order.ready.size() - begin);
    auto request = it->second.control.mapOutputsRequest();
    request.setJob(order.job.value);
    auto ready = request.initReady(static_cast<unsigned>(count));
    for (unsigned i = 0; i < count; ++i) {
      const auto& [attempt, node] = order.ready[begin + i];
      ToWire(attempt, ready[i].initAttempt());
      ready[i].setNode(node.value);
      if (const NodeRecord* record = nodes_.Find(node)) {
        ready[i].setHost(record->facts.host);
        ready[i].setPort(record->facts.port);
      }
    }
    const std::size_t gone_count = std::min(kGonePerMessage, order.gone.size() - gone_begin);
    auto gone = request.initGone(static_cast<unsigned>(gone_count));
    for (unsigned i = 0; i < gone.size(); ++i) ToWire(order.gone[gone_begin + i], gone[i]);
    const std::size_t left_out_count = std::min(kLeftOutPerMessage, order.left_out.size() - left_out_begin);
    auto left_out = request.initLeftOut(static_cast<unsigned>(left_out_count));
    for (unsigned i = 0; i < left_out.size(); ++i) left_out.set(i, order.left_out[left_out_begin + i]);
    Detach("announce map outputs", order.node, request.send().ignoreResult());
    begin += count;
    gone_begin += gone_count;
    left_out_begin += left_out_count;
  } while (begin < order.ready.size() || gone_begin < order.gone.size() || left_out_begin < order.left_out.size());
}

void Dispatcher::Send(const dfs::BlockWork& work) {
  for (const dfs::ReplicateWork& copy : work.replicate) Copy(copy);
  for (const dfs::DeleteWork& removal : work.remove) Remove(removal, false);
  for (const dfs::DeleteWork& removal : work.aside) Remove(removal, true);
}

void Dispatcher::Copy(const dfs::ReplicateWork& copy) {
  const auto it = peers_.find(copy.from);
  if (it == peers_.end()) return;
  auto request = it->second.control.replicateRequest();
  Write(copy.block, request.initBlock());
  auto targets = request.initTargets(static_cast<unsigned>(copy.to.size()));
  for (unsigned i = 0; i < targets.size(); ++i) {
    if (const NodeRecord* node = nodes_.Find(copy.to[i])) Write(*node, targets[i]);
  }
  const std::string token = tokens_.TokenFor(copy);
  if (tokens_.TakesTokens(copy.from) && tokens_.TakeTokens(copy.to)) {
    request.setToken(ToData(token));
    return Detach("copy a block", copy.from, request.send().ignoreResult());
  }
  auto told = AllowWrite(copy.to, copy.block.id, token);
  Detach("copy a block", copy.from,
         told.then([request = kj::mv(request)]() mutable { return request.send().ignoreResult(); }));
}

kj::Promise<void> Dispatcher::AllowWrite(const std::vector<NodeId>& nodes, dfs::BlockId block,
                                         const std::string& token) {
  kj::Vector<kj::Promise<void>> calls;
  for (const NodeId node : nodes) {
    const auto it = peers_.find(node);
    if (token.empty() || it == peers_.end() || !tokens_.TakesTokens(node)) continue;
    auto request = it->second.control.allowWriteRequest();
    request.setBlock(block);
    request.setToken(ToData(token));
    calls.add(request.send().ignoreResult().catch_([](kj::Exception&&) {}));
  }
  return kj::joinPromises(calls.releaseAsArray()).exclusiveJoin(timer_.afterDelay(kAllowLimit));
}

void Dispatcher::Remove(const dfs::DeleteWork& removal, bool unknown) {
  const auto it = peers_.find(removal.node);
  if (it == peers_.end()) return;
  for (std::size_t begin = 0; begin < removal.blocks.size(); begin += kDeletesPerMessage) {
    const std::size_t count = std::min(kDeletesPerMessage, removal.blocks.size() - begin);
    auto request = it->second.control.deleteBlocksRequest();
    request.setUnknown(unknown);
    auto ids = request.initBlocks(static_cast<unsigned>(count));
    for (unsigned i = 0; i < count; ++i) ids.set(i, removal.blocks[begin + i]);
    Detach("delete blocks", removal.node, request.send().ignoreResult());
  }
}

kj::Promise<bool> Dispatcher::Answers(NodeId node, kj::Duration limit) {
  const auto it = peers_.find(node);
  if (it == peers_.end()) return false;
  auto call = it->second.control.pingRequest().send().ignoreResult();
  return rpc::WithDeadline(timer_, limit, "ask a worker for a sign of life", kj::mv(call))
      .then([] { return true; }, [](kj::Exception&&) { return false; });
}

kj::Promise<dfs::wire::ReplicaState> Dispatcher::Verify(NodeId node, dfs::BlockId block) {
  const auto it = peers_.find(node);
  if (it == peers_.end()) return dfs::wire::ReplicaState::UNREACHABLE;
  auto request = it->second.control.verifyBlockRequest();
  request.setBlock(block);
  using Answer = capnp::Response<worker::wire::WorkerControl::VerifyBlockResults>;
  kj::Promise<Answer> call = request.send();
  return rpc::WithDeadline(timer_, kCheckLimit, "check a block", kj::mv(call))
      .then([](Answer&& answer) { return answer.getState(); },
            [](kj::Exception&&) { return dfs::wire::ReplicaState::UNREACHABLE; });
}

void Dispatcher::Detach(const std::string& what, NodeId node, kj::Promise<void> call) {
  tasks_.add(rpc::WithDeadline(timer_, kCallLimit, what, std::move(call)).catch_([this, what, node](kj::Exception&& e) {
    const Status why = rpc::FromException(e);
    if (why.code() != StatusCode::kUnavailable) log_->warn("node {}: {}: {}", node.value, what, why.message());
  }));
}

}  // namespace millrace::master
