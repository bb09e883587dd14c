// Workers that come, are heard, and go.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/options.h"
#include "base/rpc/status_codec.h"
#include "base/text.h"
#include "master/cluster/worker_address.h"
#include "master/control/control.h"

namespace millrace::master {

Result<Control::Registration> Control::Register(const WorkerFacts& facts, worker::wire::WorkerControl::Client control,
                                                const Claims& claims) {
  LoseOthersAt(facts);
  Step step = Begin();
  NodeRecord& node = nodes_.Admit(facts, &step.batch);
  node.alive = true;
  node.last_heard = Awake();
  Registration registration;
  registration.node = node.number;
  registration.epoch = epochs_[node.number] = next_epoch_++;
  deadlines_[node.number] = Awake() + config_.lost_after;
  files_.blocks().NodeUp(node.number, {facts.rack, facts.datacenter});
  unreported_.insert(node.number);
  hung_up_.erase(node.number);
  left_.erase(node.number);
  files_.blocks().ReportBegin(node.number);  // the worker lists its blocks once it has our answer
  files_.blocks().SetDraining(node.number, node.draining);
  dispatcher_.Connect(node.number, std::move(control));
  if (!Held()) registration.reconciled = jobs_.NodeRegistered(node, claims, &step);
  seams_.log->info("worker {} at {}:{} ({}, {}) registered: {} map and {} reduce slots, {} attempts running",
                   node.number, facts.host, facts.port, facts.rack, facts.datacenter, facts.map_slots,
                   facts.reduce_slots, claims.running.size());
  if (!Held()) {
    registration.committed = Finish(std::move(step));
  } else {
    unsettled_[node.number] = registration.epoch;
    registration.committed = kj::READY_NOW;
    FinishLazily(std::move(step));
  }
  return registration;
}

// One worker has an address. Who registers there with another storage is found by all who look for the one before it,
// and has what they write to that one: counted for both, it would be one replica too many. Who is still connected
// stays.
void Control::LoseOthersAt(const WorkerFacts& facts) {
  std::vector<NodeNumber> others;
  for (const auto& [number, deadline] : deadlines_) {
    const NodeRecord* node = nodes_.Find(number);
    const bool here = epochs_.contains(number) && !hung_up_.contains(number);
    if (node == nullptr || here || node->facts.storage == facts.storage) continue;
    if (node->facts.host == facts.host && node->facts.port == facts.port) others.push_back(number);
  }
  for (const NodeNumber number : others) {
    seams_.log->warn("worker {}: another one, with another storage, is at {}:{} now", number, facts.host, facts.port);
    LoseNode(number);
  }
}

Status Control::CheckCluster(const std::string& host, const std::string& cluster) const {
  if (cluster == cluster_) return Status::Ok();
  Status refusal = Invalid("the worker at " + host + " belongs to cluster " + Quote(cluster) +
                           " and this is the master of cluster " + cluster_ +
                           "; give it the address of its own master (worker.master), or an empty directory");
  seams_.log->warn("refused: {}", refusal.message());
  return refusal;
}

kj::Promise<void> Control::DialBack(const WorkerFacts& facts) {
  if (seams_.dialer == nullptr) return kj::READY_NOW;
  return master::DialBack(*seams_.dialer, seams_.timer, facts.host, facts.port);
}

// Two who ask at once both find the holder silent, and then the first of them in its place.
kj::Promise<void> Control::AwaitVacancy(const WorkerFacts& facts) {
  const NodeRecord* node = nodes_.FindByStorage(facts.storage);
  const auto session = node == nullptr ? epochs_.end() : epochs_.find(node->number);
  if (session == epochs_.end()) return kj::READY_NOW;
  constexpr Micros kLongestProbe = 2 * kSecond;
  const auto [number, epoch] = *session;
  const auto limit = std::min(config_.heartbeat, kLongestProbe) * kj::MICROSECONDS;
  return dispatcher_.Answers(number, limit).then([this, number = number, epoch = epoch, facts](bool answers) {
    const auto now = epochs_.find(number);
    const NodeRecord* holder = nodes_.Find(number);
    if (now == epochs_.end() || holder == nullptr) return kj::Promise<void>(kj::READY_NOW);
    if (now->second != epoch) return AwaitVacancy(facts);
    if (!answers) return kj::Promise<void>(kj::READY_NOW);
    const Status refusal = Busy(fmt::format(
        "register the worker at {}:{}: its storage belongs to node {}, the worker at {}:{}, which is here and answers; "
        "one worker serves a directory, and a copy of it is no directory of another (start with an empty one)",
        facts.host, facts.port, number, holder->facts.host, holder->facts.port));
    seams_.log->warn("refused: {}", refusal.message());
    return kj::Promise<void>(rpc::ToException(refusal));
  });
}

bool Control::Heard(NodeNumber node, std::uint64_t epoch) {
  const auto it = epochs_.find(node);
  if (it == epochs_.end() || it->second != epoch) return false;
  deadlines_[node] = Awake() + config_.lost_after;
  if (NodeRecord* record = nodes_.Find(node)) record->last_heard = Awake();
  return true;
}

std::uint64_t Control::MillisSilent(const NodeRecord& node) const {
  Micros silent = 0;
  if (node.last_heard != 0) {
    silent = Awake() - node.last_heard;
  } else if (node.lost_at != 0) {
    silent = Now() - node.lost_at;
  }
  return static_cast<std::uint64_t>(std::max<Micros>(0, silent) / kMillisecond);
}

void Control::SessionDropped(NodeNumber node, std::uint64_t epoch) {
  const auto it = epochs_.find(node);
  if (it == epochs_.end() || it->second != epoch) return;
  seams_.log->info("worker {}: connection lost", node);
  hung_up_.insert(node);
  dispatcher_.Disconnect(node);
  Micros& deadline = deadlines_[node];
  deadline = std::min(deadline, Awake() + config_.disconnect_grace);
  if (seams_.dialer != nullptr) tasks_.add(AskAfter(node, epoch));
}

// A process takes its attempts with it, so for one that is gone there is nothing to wait for. One that is about to end
// may still listen for a moment: the question is put again.
kj::Promise<void> Control::AskAfter(NodeNumber node, std::uint64_t epoch) {
  constexpr kj::Duration kAgain = 200 * kj::MILLISECONDS;
  const auto waited_for = [this, node, epoch] {
    const auto it = epochs_.find(node);
    return it != epochs_.end() && it->second == epoch && hung_up_.contains(node);
  };
  const NodeRecord* record = nodes_.Find(node);
  if (record == nullptr || !waited_for()) return kj::READY_NOW;
  const std::string host = record->facts.host;
  const std::uint16_t port = record->facts.port;
  return IsDeserted(*seams_.dialer, seams_.timer, host, port).then([=, this](bool deserted) -> kj::Promise<void> {
    if (!waited_for()) return kj::READY_NOW;
    if (!deserted) return seams_.timer.afterDelay(kAgain).then([=, this] { return AskAfter(node, epoch); });
    seams_.log->warn("worker {}: nobody listens at {}:{} any more", node, host, port);
    LoseNode(node);
    return kj::READY_NOW;
  });
}

void Control::Leave(NodeNumber node, std::uint64_t epoch, const std::string& reason) {
  const auto it = epochs_.find(node);
  if (it == epochs_.end() || it->second != epoch) return;
  seams_.log->warn("worker {} leaves: {}", node, reason);
  hung_up_.erase(node);
  left_.insert(node);
  LoseNode(node);
}

void Control::LoseNode(NodeNumber node) {
  seams_.log->warn("worker {} is lost: its tasks run elsewhere, its blocks are copied from other replicas", node);
  deadlines_.erase(node);
  epochs_.erase(node);
  unreported_.erase(node);
  dispatcher_.Disconnect(node);
  if (NodeRecord* record = nodes_.Find(node)) record->alive = false;
  files_.blocks().NodeDown(node);
  Step step = Begin();
  // A machine that is gone, or cannot be reached, is silent; a connection ends with its process.
  jobs_.NodeLost(node, hung_up_.erase(node) > 0, &step);
  FinishLazily(std::move(step));
}

Status Control::CheckForget(NodeNumber number, bool force) {
  const NodeRecord* node = nodes_.Find(number);
  if (node == nullptr) return NoSuchNode(number);
  const std::string what = "forget node " + std::to_string(number) + ": ";
  if (node->alive) return Busy(what + "it is alive; stop the worker first");
  if (InStartupGrace() || deadlines_.contains(number)) {
    return Busy(what + "the master has just started and the worker may still come; ask again after " +
                FormatDuration(config_.startup_grace) + " (master.startup_grace)");
  }
  if (force) return Status::Ok();
  const dfs::BlockHealth health = files_.blocks().Health();
  if (health.missing > 0) {
    return Invalid(what + std::to_string(health.missing) +
                   " blocks are missing and it may have them; start its worker again, or use --force");
  }
  if (node->draining && health.under_replicated > 0) {
    return Invalid(what + "it was being decommissioned and " + std::to_string(health.under_replicated) +
                   " blocks have too few replicas; wait until they are copied, or use --force");
  }
  return Status::Ok();
}

Status Control::ForgetNodes(const std::set<NodeNumber>& nodes, bool force, Step* step) {
  for (const NodeNumber node : nodes) MILLRACE_TRY(CheckForget(node, force));
  for (const NodeNumber node : nodes) {
    const std::string host = nodes_.Find(node)->facts.host;
    MILLRACE_TRY(nodes_.Forget(node, &step->batch));
    files_.blocks().ForgetNode(node);
    seams_.log->info("worker {}, which was at {} and is lost, is forgotten", node, host);
  }
  return Status::Ok();
}

// When a node was lost is noted here and not when it happens, for the sake of those that did not come back after a
// start.
void Control::ForgetOldNodes() {
  if (InStartupGrace()) return;
  Step step = Begin();
  std::set<NodeNumber> old;
  for (const auto& [number, node] : nodes_.all()) {
    if (node.alive || deadlines_.contains(number)) continue;
    if (node.lost_at == 0) {
      MILLRACE_CHECK(nodes_.NoteLost(number, step.now, &step.batch).ok(), "a node of the table is not in it");
    } else if (config_.forget_nodes_after > 0 && step.now - node.lost_at >= config_.forget_nodes_after &&
               CheckForget(number, false).ok()) {
      old.insert(number);
    }
  }
  MILLRACE_CHECK(ForgetNodes(old, false, &step).ok(), "a node that may be forgotten was not");
  if (!step.batch.empty()) FinishLazily(std::move(step));
}

bool Control::AwaitingReports() const {
  if (!InStartupGrace()) return false;
  const auto& nodes = nodes_.all();
  return nodes.empty() || std::any_of(nodes.begin(), nodes.end(), [this](const auto& n) { return Awaits(n.second); });
}

bool Control::Awaits(const NodeRecord& node) const {
  const bool may_come = !node.alive && !left_.contains(node.number);
  return InStartupGrace() && (may_come || unreported_.contains(node.number));
}

std::string Control::AwaitedLine() const {
  if (!AwaitingReports()) return {};
  constexpr std::size_t kMostNamed = 5;
  std::size_t awaited = 0;
  std::string names;
  for (const auto& [number, node] : nodes_.all()) {
    if (!Awaits(node)) continue;
    if (++awaited > kMostNamed) continue;
    names += fmt::format("{}{}:{}", names.empty() ? "" : ", ", node.facts.host, node.facts.port);
  }
  if (awaited > kMostNamed) names += fmt::format(" and {} more", awaited - kMostNamed);
  const std::string whom =
      awaited == 0 ? "its first worker"
                   : fmt::format("the reports of {} of {} workers ({})", awaited, nodes_.all().size(), names);
  const Micros since = Awake() - started_;
  return fmt::format("the master has started {} s ago and waits for {}, for {} s more at most (master.startup_grace)",
                     since / kSecond, whom, (config_.startup_grace - since + kSecond - 1) / kSecond);
}

kj::Promise<void> Control::NextReport(kj::TimePoint since) {
  if (seams_.timer.now() >= since + kReportPatience) return rpc::ToException(Busy(AwaitedLine()));
  const Micros left = std::max<Micros>(0, started_ + config_.startup_grace - Awake());
  const kj::TimePoint end = kj::min(seams_.timer.now() + left * kj::MICROSECONDS, since + kReportPatience);
  auto paf = kj::newPromiseAndFulfiller<void>();
  report_waiters_.push_back(std::move(paf.fulfiller));
  return paf.promise.exclusiveJoin(seams_.timer.atTime(end));
}

void Control::TellUnknown(NodeNumber number) {
  const dfs::UnknownBlocks unknown = files_.blocks().UnknownOn(number);
  const NodeRecord* node = nodes_.Find(number);
  if (unknown.count == 0 || node == nullptr) return;
  const std::string worker = fmt::format("worker {} at {}:{}", number, node->facts.host, node->facts.port);
  if (!unknown.held) {
    seams_.log->warn("{} has {} blocks that no file has: they go to its trash", worker, unknown.count);
    return;
  }
  seams_.log->error(
      "{} has {} blocks that no file has, too many to be right: none of them is touched. Is master.directory the right "
      "one, and all of it there? `millrace node unknown {}` lists them, `millrace node discard-unknown {}` puts them "
      "into the worker's trash",
      worker, unknown.count, number, number);
}

void Control::Reported(NodeNumber node) {
  unreported_.erase(node);
  auto waiters = std::move(report_waiters_);
  report_waiters_.clear();
  for (auto& waiter : waiters) waiter->fulfill();
}

}  // namespace millrace::master
