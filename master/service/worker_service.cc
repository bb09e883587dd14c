// SPDX-License-Identifier: Apache-2.0
#include "master/service/worker_service.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "dfs/wire/blocks.h"
#include "master/control/wire_codec.h"
#include "master/service/after_commits.h"
#include "master/service/service_support.h"

namespace millrace::master {
namespace {

AttemptOutput OutputOf(task::wire::Output::Reader in) {
  AttemptOutput output{in.getFile(), ToString(in.getName()), Read(in.getBlocks())};
  if (output.name.empty() || output.name.find('/') != std::string::npos)
    Require(Invalid("attempt done: its output has no valid name"));
  return output;
}

// Returns the task's own figures, each at most what an attempt can use.
sched::ProcessorUse ReadUse(task::wire::ProcessorUse::Reader use) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;  // 35 years of one core
  const auto read = [=](std::uint64_t micros) { return static_cast<Micros>(std::min(micros, kMost)); };
  return {read(use.getCpu()), read(use.getWaited()), read(use.getStart())};
}

// Returns the files that the attempt wrote; the first one is its part file.
std::vector<AttemptOutput> OutputsOf(task::wire::Done::Reader done) {
  constexpr std::uint32_t kMostNamed = 1000;
  std::vector<AttemptOutput> outputs;
  if (done.getOutput().getPresent()) outputs.push_back(OutputOf(done.getOutput()));
  if (done.getNamed().size() > (outputs.empty() ? 0 : kMostNamed))
    Require(Invalid("attempt done: it has " + std::to_string(done.getNamed().size()) +
                    " named outputs; at most 1000, beside a part file"));
  for (const auto named : done.getNamed()) {
    outputs.push_back(OutputOf(named));
    if (outputs.back().name.starts_with('_') || outputs.back().name.starts_with('.'))
      Require(Invalid("attempt done: the name of a named output is hidden"));
  }
  return outputs;
}

std::vector<DiskPace> ReadDisks(capnp::List<wire::DiskSyncs>::Reader in) {
  constexpr std::uint64_t kLongest = std::uint64_t{24} * 3600 * 1'000'000;
  constexpr std::size_t kLongestName = 255;
  std::vector<DiskPace> disks;
  for (const auto disk : in) {
    disks.push_back({Printable(ToString(disk.getDisk()).substr(0, kLongestName)), disk.getSyncs(),
                     static_cast<Micros>(std::min(disk.getMedianMicros(), kLongest)),
                     static_cast<Micros>(std::min(disk.getWorstMicros(), kLongest))});
  }
  return disks;
}

std::vector<UnreachedPeer> ReadUnreached(capnp::List<wire::UnreachedPeer>::Reader in) {
  std::vector<UnreachedPeer> peers;
  for (const auto peer : in)
    peers.push_back({ToString(peer.getPeer().getHost()), peer.getPeer().getPort(), peer.getFailures()});
  return peers;
}

// Returns the path as the worker says it; empty if it is none, or too long to be kept for each node.
std::string ReadPython(capnp::Text::Reader said) {
  constexpr std::size_t kMostBytes = 255;
  std::string path = said.size() <= kMostBytes ? ToString(said) : std::string();
  return path.starts_with('/') && Printable(path) == path ? path : std::string();
}

class WorkerSessionImpl : public wire::WorkerSession::Server {
 public:
  WorkerSessionImpl(const WorkerSessionParts& parts, NodeId node, std::uint64_t epoch)
      : master_(parts), self_(parts.steps.self()), node_(node), epoch_(epoch) {}
  ~WorkerSessionImpl() {
    if (*self_ != nullptr) master_.workers.SessionDropped(node_, epoch_);
  }

  kj::Promise<void> heartbeat(HeartbeatContext context) override {
    Listen();
    const auto stats = context.getParams().getStats();
    master_.workers.NoteSpace(
        node_, {stats.getCapacity(), stats.getFree(), stats.getUsed(), stats.getBlocks(), stats.getTrashed()},
        stats.getNoRoom());
    if (NodeRecord* node = master_.nodes.Find(node_)) {
      node->certificate_until = std::max<Micros>(0, stats.getCertificateUntil());
      node->python = ReadPython(stats.getPython());
    }
    master_.files.blocks().NodeSpace(node_, stats.getFree(), stats.getCapacity());
    if (const Moment moment = master_.age.KeptMoment(); moment.life != 0)
      Write(moment, context.getResults().initMoment());
    master_.watch.Heard(node_, ReadDisks(stats.getDisks()), ReadUnreached(context.getParams().getUnreached()));
    WritePeers(master_.watch.ToLookAt(node_), context);
    if (master_.room.Held()) return kj::READY_NOW;
    Step step = master_.steps.Begin();
    if (stats.getCapacity() > 0) master_.jobs.NodeSpace(node_, stats.getFree(), &step);  // 0: it is not known
    if (const NodeRecord* node = master_.nodes.Find(node_))
      master_.jobs.NodeTakesTasks(node_, node->TakesTasks(), &step);
    for (const auto progress : context.getParams().getProgress()) {
      master_.jobs.Progress(node_, FromWire(progress.getAttempt()), progress.getFraction(), &step);
    }
    if (!step.changed.empty() || !step.batch.empty()) master_.steps.FinishLazily(std::move(step));
    return kj::READY_NOW;
  }

  kj::Promise<void> reportBlocks(ReportBlocksContext context) override {
    Listen();
    const auto params = context.getParams();
    if (params.getFirst() && !std::exchange(reporting_, true)) master_.files.blocks().ReportBegin(node_);
    master_.files.blocks().ReportPart(node_, ReadBlocks(params.getBlocks()));
    if (params.getLast()) {
      master_.files.blocks().ReportEnd(node_);
      master_.workers.TellUnknown(node_);
      reporting_ = false;
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> offerTrash(OfferTrashContext context) override {
    Listen();
    if (context.getParams().getBlocks().size() > 0) master_.workers.NoteTrash(node_);
    std::vector<dfs::BlockId> wanted;
    for (const dfs::Block& block : ReadBlocks(context.getParams().getBlocks())) {
      if (master_.files.blocks().Recall(node_, block)) wanted.push_back(block.id);
    }
    if (!wanted.empty()) master_.log->info("worker {}: {} blocks come back from its trash", node_.value, wanted.size());
    auto out = context.getResults().initWanted(static_cast<unsigned>(wanted.size()));
    for (unsigned i = 0; i < out.size(); ++i) out.set(i, wanted[i]);
    return kj::READY_NOW;
  }

  kj::Promise<void> endReport(EndReportContext) override {
    // The calls of the report are a stream. This one is answered after all of them have been taken in.
    Listen();
    master_.workers.Reported(node_);
    return kj::READY_NOW;
  }

  kj::Promise<void> blocksReceived(BlocksReceivedContext context) override {
    Listen();
    for (const dfs::Block& block : ReadBlocks(context.getParams().getBlocks()))
      master_.files.blocks().Received(node_, block);
    return kj::READY_NOW;
  }

  kj::Promise<void> blocksDeleted(BlocksDeletedContext context) override {
    Listen();
    for (const std::uint64_t block : context.getParams().getBlocks()) master_.files.blocks().Deleted(node_, block);
    if (master_.age.Doubted()) master_.workers.NoteTrash(node_);
    return kj::READY_NOW;
  }

  kj::Promise<void> blockCorrupt(BlockCorruptContext context) override {
    Listen();
    const std::uint64_t block = context.getParams().getBlock();
    master_.log->warn("worker {}: its replica of {} is corrupt or gone", node_.value, dfs::BlockName(block));
    master_.files.blocks().Corrupt(node_, block);
    return kj::READY_NOW;
  }

  kj::Promise<void> leave(LeaveContext context) override {
    Listen();
    master_.workers.Leave(node_, epoch_, ToString(context.getParams().getReason()));
    return kj::READY_NOW;
  }

  kj::Promise<void> foretell(ForetellContext context) override {
    Listen();
    Require(master_.room.CheckGoingOn());
    master_.workers.Foretell(node_, ReadLeaving(context.getParams(), master_.clock.Awake()));
    return kj::READY_NOW;
  }

  kj::Promise<void> attemptDone(AttemptDoneContext context) override {
    Listen();
    Require(master_.room.CheckGoingOn());
    const auto params = context.getParams();
    const auto done = params.getDone();
    const TaskReport report{ReadCounters(done.getCounters()), params.getBytesRead(), params.getBytesShuffled(),
                            params.getBytesWritten(), ReadUse(done.getUse())};
    const std::vector<AttemptOutput> outputs = OutputsOf(done);
    Step step = master_.steps.Begin();
    master_.jobs.AttemptDone(node_, FromWire(done.getAttempt()), report, outputs, &step);
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> attemptFailed(AttemptFailedContext context) override {
    Listen();
    const auto params = context.getParams();
    const AttemptId attempt = FromWire(params.getAttempt());
    if (master_.room.Held()) master_.room.NoteRefusedFailure(attempt);
    Require(master_.room.CheckGoingOn());
    std::string reason = ToString(params.getError());
    const std::string tail = ToString(params.getStderrTail());
    if (!tail.empty()) reason += "; standard error ends: " + tail;
    constexpr std::size_t kMostReason = 4096;
    reason.resize(std::min(reason.size(), kMostReason));
    Step step = master_.steps.Begin();
    const bool not_its_fault = master_.room.TakeRefusedFailure(attempt) || params.getLost();
    std::optional<sched::RecordPlace> record;
    if (params.hasRecord()) record = Read(params.getRecord());
    master_.jobs.AttemptFailed(node_, attempt, not_its_fault, reason, &step, record, params.getPermanent());
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> fetchFailed(FetchFailedContext context) override {
    Listen();
    Require(master_.room.CheckGoingOn());
    const auto params = context.getParams();
    const AttemptId map = FromWire(params.getMap());
    master_.log->warn("worker {}: cannot fetch the output of {}: {}", node_.value, ToText(map),
                      ToString(params.getReason()));
    Step step = master_.steps.Begin();
    master_.jobs.FetchFailed(node_, FromWire(params.getReduce()), map, params.getReport(), &step);
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> reducePhase(ReducePhaseContext context) override {
    Listen();
    Require(master_.room.CheckGoingOn());
    constexpr double kCopyShare = 1.0 / 3;  // as in progress reports
    const AttemptId attempt = FromWire(context.getParams().getAttempt());
    Step step = master_.steps.Begin();
    if (context.getParams().getComputing()) {
      master_.jobs.ReduceComputing(node_, attempt, &step);
    } else {
      master_.jobs.ReduceCopied(node_, attempt, &step);
    }
    master_.jobs.Progress(node_, attempt, kCopyShare, &step);
    return master_.steps.Finish(std::move(step));
  }

  kj::Promise<void> archiveLogs(ArchiveLogsContext context) override {
    constexpr std::size_t kMostAskedAbout = 100;
    Listen();
    std::vector<JobId> jobs;
    for (const std::uint32_t job : context.getParams().getJobs()) {
      if (jobs.size() < kMostAskedAbout) jobs.emplace_back(JobId{job});
    }
    const std::vector<JobLogs::Order> orders = master_.job_logs.OrdersFor(node_, jobs);
    auto out = context.getResults().initOrders(static_cast<unsigned>(orders.size()));
    for (unsigned i = 0; i < out.size(); ++i) {
      out[i].setJob(orders[i].job.value);
      out[i].setFate(static_cast<wire::LogFate>(orders[i].fate));
      out[i].setBytes(orders[i].bytes);
    }
    return master_.steps.Kept();  // a job whose end is lost with the master prints more
  }

 private:
  void WritePeers(const std::vector<NodeId>& peers, HeartbeatContext& context) {
    auto look = context.getResults().initLook(static_cast<unsigned>(peers.size()));
    for (unsigned i = 0; i < look.size(); ++i) {
      const WorkerFacts& facts = master_.nodes.Find(peers[i])->facts;
      look[i].setHost(facts.host);
      look[i].setPort(facts.port);
    }
  }

  void Listen() {
    if (!master_.workers.Heard(node_, epoch_))
      Require(Unavailable("worker " + std::to_string(node_.value) + ": this session has ended; register again"));
  }

  const WorkerSessionParts master_;
  const std::shared_ptr<Steps* const> self_;
  NodeId node_;
  std::uint64_t epoch_;
  bool reporting_ = true;  // the first report began when the worker registered, before it listed its blocks
};

}  // namespace

wire::WorkerSession::Client MakeWorkerSession(const WorkerSessionParts& parts, NodeId node, std::uint64_t epoch) {
  return kj::heap<AfterCommits<WorkerSessionImpl>>(parts.steps, parts, node, epoch);
}

}  // namespace millrace::master
