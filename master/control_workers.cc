// Workers that come, are heard, and go.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "master/control.h"

namespace millrace::master {

Result<Control::Registration> Control::Register(const WorkerFacts& facts, worker::wire::WorkerControl::Client control,
                                                const JobTracker::Claims& claims) {
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
  files_.blocks().ReportBegin(node.number);  // the worker lists its blocks once it has our answer
  files_.blocks().SetDraining(node.number, node.draining);
  dispatcher_.Connect(node.number, std::move(control));
  registration.reconciled = jobs_.NodeRegistered(node, claims, &step);
  seams_.log->info("worker {} at {}:{} ({}, {}) registered: {} map and {} reduce slots, {} attempts running",
                   node.number, facts.host, facts.port, facts.rack, facts.datacenter, facts.map_slots,
                   facts.reduce_slots, claims.running.size());
  registration.committed = Finish(std::move(step));
  return registration;
}

Status Control::CheckCluster(const std::string& host, const std::string& cluster) const {
  if (cluster == cluster_) return Status::Ok();
  Status refusal = Invalid("the worker at " + host + " belongs to cluster " + Quote(cluster) +
                           " and this is the master of cluster " + cluster_ +
                           "; give it the address of its own master (worker.master), or an empty directory");
  seams_.log->warn("refused: {}", refusal.message());
  return refusal;
}

bool Control::Heard(NodeNumber node, std::uint64_t epoch) {
  const auto it = epochs_.find(node);
  if (it == epochs_.end() || it->second != epoch) return false;
  deadlines_[node] = Awake() + config_.lost_after;
  if (NodeRecord* record = nodes_.Find(node)) record->last_heard = Awake();
  return true;
}

std::uint64_t Control::MillisSilent(const NodeRecord& node) const {
  return node.last_heard == 0
             ? 0
             : static_cast<std::uint64_t>(std::max<Micros>(0, Awake() - node.last_heard) / kMillisecond);
}

void Control::SessionDropped(NodeNumber node, std::uint64_t epoch) {
  const auto it = epochs_.find(node);
  if (it == epochs_.end() || it->second != epoch) return;
  seams_.log->info("worker {}: connection lost", node);
  hung_up_.insert(node);
  dispatcher_.Disconnect(node);
  Micros& deadline = deadlines_[node];
  deadline = std::min(deadline, Awake() + config_.disconnect_grace);
}

void Control::Leave(NodeNumber node, std::uint64_t epoch, const std::string& reason) {
  const auto it = epochs_.find(node);
  if (it == epochs_.end() || it->second != epoch) return;
  seams_.log->warn("worker {} leaves: {}", node, reason);
  hung_up_.erase(node);
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

bool Control::AwaitingReports() const {
  if (!InStartupGrace()) return false;
  const auto& nodes = nodes_.all();
  const auto absent = [](const auto& entry) { return !entry.second.alive; };
  return nodes.empty() || !unreported_.empty() || std::any_of(nodes.begin(), nodes.end(), absent);
}

kj::Promise<void> Control::NextReport() {
  const Micros left = std::max<Micros>(0, started_ + config_.startup_grace - Awake());
  auto paf = kj::newPromiseAndFulfiller<void>();
  report_waiters_.push_back(std::move(paf.fulfiller));
  return paf.promise.exclusiveJoin(seams_.timer.afterDelay(left * kj::MICROSECONDS));
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
