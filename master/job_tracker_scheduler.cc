// The scheduler in force, and what of the jobs' doings only schedulers want to know.
#include <algorithm>

#include "master/job_tracker.h"
#include "master/journal_keys.h"
#include "schedulers/config/settings_text.h"
#include "schedulers/core/cluster_state.h"
#include "schedulers/core/policy.h"
#include "schedulers/journal/event_text.h"
#include "schedulers/offering/speculation_settings.h"

namespace millrace::master {

void JobTracker::SetScheduler(const sched::SchedulerSet& scheduler, Step* step) {
  MILLRACE_CHECK(Apply(scheduler, JobId{0}, step), "scheduler " + scheduler.name + " was refused by the engine");
  scheduler_ = scheduler;
  const Result<sched::Settings> settings = sched::ReadSettings(scheduler.settings);
  wants_progress_ = settings.ok() && settings->Of<sched::SpeculationSettings>().on();
}

// Before the first job after a quiet time the nodes, and what jobs say of them, are written down, so that recovery can
// begin here. Beside the journal: there they would read as if the nodes had come again.
void JobTracker::SnapshotNodes(Step* step) {
  const std::uint64_t start = sequences_.Next(&step->batch);
  step->batch.Put(std::string(kReplayFrom), KeyNumber(start));
  std::string base;
  for (const auto& [node, joined] : joined_) {
    base += sched::FormatEvent(step->now, joined) + "\n";
    const sched::NodeState* known = engine_.state().FindNode(NodeId{node});
    if (known != nullptr && known->drained)
      base += sched::FormatEvent(step->now, sched::NodeDrained{NodeId{node}, true}) + "\n";
  }
  for (const auto& [node, jobs] : engine_.state().blames()) {
    for (const auto& [job, until] : jobs)
      base += sched::FormatEvent(step->now, sched::NodeBlamed{node, job, until}) + "\n";
  }
  step->batch.Put(std::string(kReplayBase), std::move(base));
}

void JobTracker::Progress(NodeNumber node, const AttemptId& attempt, double fraction, Step* step) {
  constexpr std::uint32_t kStep = 50;  // per mille: so much news is worth a line of the journal
  Job* job = Find(attempt.task.job);
  if (job == nullptr || NodeOf(attempt) != node) return;
  AttemptRecord& record = job->attempts[job->running.at(attempt)];
  record.fraction = std::clamp(fraction, 0.0, 1.0);
  step->changed.insert(attempt.task.job);
  const auto per_mille = static_cast<std::uint32_t>(record.fraction * 1000);
  if (!wants_progress_ || per_mille < record.per_mille + kStep) return;
  record.per_mille = per_mille;
  Apply(sched::AttemptProgressed{attempt, per_mille}, attempt.task.job, step);
}

void JobTracker::NodeSpace(NodeNumber node, std::uint64_t free_bytes, Step* step) {
  constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
  const sched::NodeState* known = engine_.state().FindNode(NodeId{node});
  if (known == nullptr || !known->alive) return;
  const std::uint64_t believed = known->free_bytes.value_or(0);
  const std::uint64_t off = believed > free_bytes ? believed - free_bytes : free_bytes - believed;
  if (known->free_bytes && off < std::max(kLeast, free_bytes / 16)) return;
  Apply(sched::NodeSpace{NodeId{node}, free_bytes}, JobId{0}, step);
}

// Where readers go first.
std::optional<dfs::NodeId> JobTracker::ClosestHolder(NodeNumber node, const Split& split) const {
  if (split.blocks.empty()) return std::nullopt;
  const std::vector<dfs::NodeId> holders = files_.Holders(split.blocks.front().id);
  const auto distance = [&](dfs::NodeId holder) {
    return engine_.state().topology().Distance(NodeId{node}, {NodeId{holder}});
  };
  const auto closest = std::min_element(holders.begin(), holders.end(),
                                        [&](dfs::NodeId a, dfs::NodeId b) { return distance(a) < distance(b); });
  if (closest == holders.end()) return std::nullopt;
  return *closest;
}

// The rate is that of all that came from elsewhere: it says something of a node from which more than half of it came.
void JobTracker::NoteTransfer(NodeNumber node, const MapSplits& splits, std::uint64_t bytes_per_second, Step* step) {
  if (bytes_per_second == 0) return;
  std::map<dfs::NodeId, std::uint64_t> bytes;  // from each other node
  std::uint64_t total = 0;
  for (const Split& split : splits) {
    const std::optional<dfs::NodeId> from = ClosestHolder(node, split);
    if (!from || *from == node) continue;
    bytes[*from] += split.length;
    total += split.length;
  }
  for (const auto& [from, part] : bytes) {
    if (part > total / 2) Apply(sched::BandwidthMeasured{NodeId{from}, NodeId{node}, bytes_per_second}, JobId{0}, step);
  }
}

void JobTracker::ReduceComputing(NodeNumber node, const AttemptId& attempt, Step* step) {
  if (NodeOf(attempt) != node || attempt.task.kind != TaskKind::kReduce) return;
  const sched::RunningAttempt* running =
      engine_.state().FindJob(attempt.task.job)->reduces[attempt.task.index].Find(attempt.number);
  if (running == nullptr || running->computing) return;
  Apply(sched::ReduceComputing{attempt}, attempt.task.job, step);
}

}  // namespace millrace::master
