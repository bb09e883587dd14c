#include "schedulers/policies/joss/joss.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace millrace::sched {
namespace {

std::string Decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

}  // namespace

Joss::Joss(Assigner assigner, const JossSettings& settings) : Joss(assigner, settings, std::make_unique<JossFifo>()) {}

Joss::Joss(Assigner assigner, const JossSettings& settings, std::unique_ptr<JossFifo> listed)
    : assigner_(assigner),
      settings_(settings),
      listed_(listed.get()),
      fifo_(assigner == Assigner::kTask ? "joss-t" : "joss-j", std::move(listed), Admission()) {}

void Joss::Touch(JobId job) {
  if (!std::exchange(jobs_[job.value].dirty, true)) dirty_.push_back(job);
}

void Joss::OnJobSubmitted(const ClusterState& state, JobId job) {
  if (jobs_.size() <= job.value) jobs_.resize(job.value + 1);
  jobs_[job.value].alive = true;
  fifo_.OnJobSubmitted(state, job);
  Touch(job);
}

void Joss::OnJobPrioritySet(const ClusterState& state, JobId job) { fifo_.OnJobPrioritySet(state, job); }

void Joss::OnJobEnded(const ClusterState& state, JobId job) {
  fifo_.OnJobEnded(state, job);
  queues_.EraseJob(job);
  const bool dirty = jobs_[job.value].dirty;
  jobs_[job.value] = Job();
  jobs_[job.value].dirty = dirty;
}

void Joss::OnJobChanged(const ClusterState& state, JobId job) {
  fifo_.OnJobChanged(state, job);
  Touch(job);
}

void Joss::OnNodesChanged(const ClusterState& state) {
  fifo_.OnNodesChanged(state);
  if (assigner_ == Assigner::kJob) state.KeepLocalJobs();
  nodes_changed_ = true;
}

void Joss::Settle(const ClusterState& state) {
  if (std::exchange(nodes_changed_, false)) {
    centers_.Rebuild(state);
    for (Turns& turns : turns_) turns.node.resize(centers_.size());
    const bool spread = centers_.live() >= 2;
    if (std::exchange(spread_, spread) != spread) {
      PlaceAll(state);
    } else if (spread) {
      LeaveClosedCenters(state);
    }
  }
  for (const JobId job : dirty_) {
    Job& placing = jobs_[job.value];
    placing.dirty = false;
    if (!placing.alive) continue;
    if (!placing.placed) Place(state, job);
    if (!listed_->IsListed(job)) Refresh(state, job);
  }
  dirty_.clear();
}

void Joss::PlaceAll(const ClusterState& state) {
  queues_ = JossQueues();
  std::vector<QueueKey> jobs(state.LiveJobs().begin(), state.LiveJobs().end());
  std::sort(jobs.begin(), jobs.end(),
            [](const QueueKey& a, const QueueKey& b) { return a.submit_order < b.submit_order; });
  for (const QueueKey& key : jobs) {
    listed_->Unlist(key.job);
    Place(state, key.job);
  }
}

void Joss::Place(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  jobs_[id.value].placed = true;
  const auto filtering = FilteringPercentage(job, settings_);
  if (!spread_ || !filtering) {
    listed_->List(state, id);
  } else {
    Bind(state, job, jobs_[id.value], *filtering);
  }
}

void Joss::Bind(const ClusterState& state, const JobState& job, Job& placing, double filtering) {
  const bool small = IsSmallJob(job.spec.maps.size(), state.live_nodes(), centers_.live());
  placing.by_blocks = !small || filtering <= ReduceHeavyThreshold(centers_.live());
  placing.queue = small ? 0 : ++last_queue_;
  const CenterId least = centers_.LeastLoaded(state, queues_, {TaskKind::kMap, TaskKind::kReduce});
  if (placing.by_blocks) {
    std::vector<std::vector<CenterId>> holders;
    holders.reserve(job.spec.maps.size());
    for (const MapInput& input : job.spec.maps) holders.push_back(centers_.Holders(state, input));
    JossPlan plan = PlaceByBlocks(holders, centers_.size(), least);
    placing.maps = std::move(plan.maps);
    placing.reduces = plan.reduces;
  } else {
    placing.maps.assign(job.spec.maps.size(), least);
    placing.reduces = least;
  }
  for (const TaskKind kind : kTaskKinds) QueueMissing(state, job, kind, JossQueues::End::kTail);
}

void Joss::LeaveClosedCenters(const ClusterState& state) {
  for (const TaskKind kind : kTaskKinds) {
    for (CenterId center = 0; center < centers_.size(); ++center) {
      if (queues_.Waiting(kind, center) == 0 || centers_.IsOpen(kind, center)) continue;
      const CenterId to = centers_.LeastLoaded(state, queues_, {kind});
      if (centers_.IsOpen(kind, to)) queues_.MoveAll(kind, center, to);
    }
  }
}

void Joss::Refresh(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  for (const TaskKind kind : kTaskKinds) {
    if (queues_.Waiting(id, kind) != job.Pending(kind).size()) {
      TakeGone(job, kind);
      QueueMissing(state, job, kind, JossQueues::End::kHead);
    }
    for (Share* share : queues_.SharesOf(id, kind)) {
      queues_.SetReady(*share, job.runnable[kind]);
    }
  }
}

// Tasks that were launched by another policy, or by a journal.
void Joss::TakeGone(const JobState& job, TaskKind kind) {
  for (Share* share : std::vector<Share*>(queues_.SharesOf(job.progress.job, kind))) {
    const std::vector<std::uint32_t> tasks(share->tasks.begin(), share->tasks.end());
    for (const std::uint32_t task : tasks) {
      if (!job.Pending(kind).Contains(task)) queues_.Take(*share, task);
    }
  }
}

void Joss::QueueMissing(const ClusterState& state, const JobState& job, TaskKind kind, JossQueues::End end) {
  const JobId id = job.progress.job;
  std::map<std::pair<CenterId, bool>, OrderedBits> missing;  // by datacenter, and whether the data is there
  std::optional<CenterId> instead;
  for (const std::uint32_t index : job.Pending(kind)) {
    const TaskId task{id, kind, index};
    if (queues_.Find(task) != nullptr) continue;
    CenterId& home = Home(task);
    if (!centers_.IsOpen(kind, home)) {
      if (!instead) instead = centers_.LeastLoaded(state, queues_, {kind});
      home = *instead;
    }
    missing[{home, IsNear(state, job, task, home)}].Insert(index);
  }
  for (auto& [place, tasks] : missing) {
    Share& share = queues_.Put(end, id, kind, place.first, jobs_[id.value].queue, place.second, std::move(tasks));
    queues_.SetReady(share, job.runnable[kind]);
  }
}

CenterId& Joss::Home(const TaskId& task) {
  Job& job = jobs_[task.job.value];
  return task.kind == TaskKind::kMap ? job.maps[task.index] : job.reduces;
}

// joss-t does not look: its queues have one order.
bool Joss::IsNear(const ClusterState& state, const JobState& job, const TaskId& task, CenterId center) const {
  if (assigner_ == Assigner::kTask || task.kind == TaskKind::kReduce) return true;
  return centers_.Holds(state, job.spec.maps[task.index], center);
}

PolicyView Joss::View(const ClusterState& state, Micros now) const {
  PolicyView view = fifo_.View(state, now);
  view.facts.emplace_back("datacenters", std::to_string(centers_.live()));
  if (!spread_) {
    view.facts.emplace_back("runs as", "fifo: JoSS needs two datacenters");
    return view;
  }
  const std::uint32_t live = centers_.live();
  view.facts.emplace_back("small jobs", "up to " + std::to_string(state.live_nodes() / live) + " maps");
  view.facts.emplace_back("reduce-heavy", "above " + Decimal(ReduceHeavyThreshold(live)));
  for (CenterId center = 0; center < centers_.size(); ++center) {
    view.facts.emplace_back("datacenter " + std::to_string(center),
                            std::to_string(queues_.Waiting(TaskKind::kMap, center)) + " maps and " +
                                std::to_string(queues_.Waiting(TaskKind::kReduce, center)) + " reduces wait");
  }
  for (const TaskKind kind : kTaskKinds) {
    for (const QueueKey& key : state.RunnableJobs(kind)) {
      const auto& shares = queues_.SharesOf(key.job, kind);
      if (shares.empty()) continue;
      view.waits.push_back({key.job, kind, "in the queue of datacenter " + std::to_string(shares.front()->center)});
    }
  }
  std::sort(view.waits.begin(), view.waits.end(),
            [](const WaitView& a, const WaitView& b) { return std::tie(a.job, a.kind) < std::tie(b.job, b.kind); });
  return view;
}

}  // namespace millrace::sched
