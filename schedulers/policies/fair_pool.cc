#include "schedulers/policies/fair_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millrace::sched {
namespace {

constexpr TaskKind kKinds[] = {TaskKind::kMap, TaskKind::kReduce};

}  // namespace

FairPool::FairPool(std::string name, const Settings& settings)
    : name_(std::move(name)),
      settings_(settings.Pool(name_)),
      weight_(WeightUnits(settings_.weight)),
      order_(settings_.order.value_or(settings.fair.order)),
      in_order_(MakePoolJobs(order_, settings.mlq)),
      members_{{this, name_, TaskKind::kMap}, {this, name_, TaskKind::kReduce}} {}

void FairPool::Add(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  Job& entry = jobs_[id.value];
  entry.key = job.key;
  waiting_.insert(job.key);
  if (job.started) {
    Admit(state, id);
    TakeBackOne(state);
  }
  AdmitNext(state);
  Count(state, id, entry);
}

void FairPool::Change(const ClusterState& state, JobId id) {
  Job& entry = jobs_.at(id.value);
  if (!entry.admitted) {
    waiting_.erase(std::exchange(entry.key, state.FindJob(id)->key));
    waiting_.insert(entry.key);
  }
  Count(state, id, entry);
}

void FairPool::Remove(const ClusterState& state, JobId id) {
  const auto at = jobs_.find(id.value);
  for (const TaskKind kind : kKinds) Replace(at->second, kind, {});
  if (at->second.admitted) {
    in_order_->Erase(id);
  } else {
    waiting_.erase(at->second.key);
  }
  jobs_.erase(at);
  const std::size_t waited = waiting_.size();
  AdmitNext(state);
  if (waiting_.size() < waited) let_in_ = {true, true};
}

void FairPool::Admit(const ClusterState& state, JobId id) {
  Job& entry = jobs_.at(id.value);
  waiting_.erase(entry.key);
  entry.admitted = true;
  Count(state, id, entry);
}

void FairPool::AdmitNext(const ClusterState& state) {
  const std::uint32_t limit = settings_.max_running_jobs.value_or(kNoMaximum);
  while (!waiting_.empty() && jobs_.size() - waiting_.size() < limit) Admit(state, waiting_.begin()->job);
}

void FairPool::TakeBackOne(const ClusterState& state) {
  if (jobs_.size() - waiting_.size() <= settings_.max_running_jobs.value_or(kNoMaximum)) return;
  Job* last = nullptr;
  for (auto& [id, entry] : jobs_) {
    const JobState& job = *state.FindJob(JobId{id});
    if (!entry.admitted || job.started) continue;
    entry.key = job.key;
    if (last == nullptr || last->key < entry.key) last = &entry;
  }
  if (last == nullptr) return;
  last->admitted = false;
  waiting_.insert(last->key);
  in_order_->Erase(last->key.job);
  Count(state, last->key.job, *last);
}

void FairPool::Count(const ClusterState& state, JobId id, Job& entry) {
  const JobState& job = *state.FindJob(id);
  for (const TaskKind kind : kKinds) {
    const std::uint32_t running = job.running_attempts[At(kind)];
    Replace(entry, kind,
            {running, entry.admitted ? job.Demand(kind) : running, entry.admitted && job.runnable[At(kind)] ? 1U : 0U});
  }
  if (entry.admitted) in_order_->Put(state, job);
}

void FairPool::Replace(Job& entry, TaskKind kind, const Counts& now) {
  Counts& before = entry.counts[At(kind)];
  Counts& total = total_[At(kind)];
  const bool had_room = HasRoom(kind);
  total.running += now.running - before.running;
  total.demand += now.demand - before.demand;
  total.runnable += now.runnable - before.runnable;
  before = now;
  if (!had_room && HasRoom(kind)) let_in_[At(kind)] = true;
}

std::vector<JobId> FairPool::Jobs() const {
  std::vector<JobId> jobs;
  for (const auto& [id, entry] : jobs_) jobs.push_back(JobId{id});
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

std::uint32_t FairPool::Maximum(TaskKind kind) const {
  return (kind == TaskKind::kMap ? settings_.max_maps : settings_.max_reduces).value_or(kNoMaximum);
}

std::uint32_t FairPool::Minimum(TaskKind kind) const {
  return std::min(kind == TaskKind::kMap ? settings_.min_maps : settings_.min_reduces, Maximum(kind));
}

FairClaim FairPool::Claim(TaskKind kind) const {
  const Counts& total = total_[At(kind)];
  return {weight_, Minimum(kind), std::min(total.demand, Maximum(kind)), total.running,
          total.runnable > 0 && HasRoom(kind)};
}

}  // namespace millrace::sched
