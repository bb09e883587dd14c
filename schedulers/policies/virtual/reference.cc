// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/virtual/reference.h"

#include <algorithm>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

// Divides work among the members that have some left, by weight, until it is used up: `left` of every member is less by
// what a member of weight 1 gets, also of those that have none left. Calls step(that, the work that is then left) each
// time a member ends, and at the end. Returns the work that cannot be divided.
Micros Share(Micros work, const std::vector<std::pair<Micros*, Micros>>& members,
             const std::function<void(Micros, Micros)>& step) {
  while (true) {
    Micros weights = 0;
    std::optional<Micros> least;
    for (const auto& [left, weight] : members) {
      if (*left <= 0) continue;
      weights += weight;
      least = std::min(least.value_or(*left), *left);
    }
    if (!least) return 0;
    const Micros each = std::min(*least, work / weights);
    for (const auto& [left, weight] : members) *left -= each;
    work -= each * weights;
    step(each, work);
    if (each < *least) return work;
  }
}

}  // namespace

void SizedReference::WorkUntil(TaskKind phase, Micros now) {
  const Micros passed = std::max<Micros>(now - until_[phase], 0);
  Work(phase, slots_[phase], passed, now);
  until_[phase] += passed;
}

void SizedReference::Learn(const ClusterState& state, const JobState& job, TaskKind phase, Micros now) {
  const JobId id = job.progress.job;
  constexpr Micros kWeights[] = {16, 8, 4, 2, 1};
  const Micros weight = kWeights[static_cast<std::size_t>(job.progress.priority)];
  VirtualJob before;
  if (const auto at = jobs_[phase].find(id); at != jobs_[phase].end()) {
    before = at->second;
    if (before.finished == job.times[phase].finished && before.weight == weight) return;
  } else {
    const bool runs =
        phase == TaskKind::kMap ? job.runnable[kMapSlot] : job.runnable[kReduceSlot] || job.runnable[kComputePermit];
    if (!runs) return;
    for (const TaskState& task : job.Tasks(phase)) before.tasks += task.done ? 0 : 1;
    before.tasks = std::max<Micros>(before.tasks, 1);
    before.user = job.spec.user;
    before.finished = -1;
    before.weight = weight;
    jobs_[phase][id] = before;
  }
  Micros work = before.work;
  if (before.finished != job.times[phase].finished) {
    const Micros each = std::min(MeasuredTime(state, job, phase), 1'000'000'000'000'000 / before.tasks);
    work = before.tasks * std::max<Micros>(each, 1);
  }
  jobs_[phase].at(id).finished = job.times[phase].finished;
  Resize(phase, id, work, weight, now);
}

PerSlot<bool> SizedReference::BeginRound(const ClusterState& state, Micros now) {
  for (const TaskKind phase : kTaskKinds) {
    WorkUntil(phase, now);
    slots_[phase] = state.Capacity(phase == TaskKind::kMap ? kMapSlot : reduces_);
    for (std::uint32_t id = 0; id < state.job_ids(); ++id) {
      const JobState* job = state.FindJob({id});
      if (job != nullptr && job->alive()) Learn(state, *job, phase, now);
    }
  }
  return {};
}

void SizedReference::OnJobEnded(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  for (const TaskKind phase : kTaskKinds) {
    if (!jobs_[phase].contains(id)) continue;
    WorkUntil(phase, job.progress.ended);
    if (job.times[phase].finished > 0) Learn(state, job, phase, job.progress.ended);
    End(phase, id, job.progress.outcome == JobOutcome::kSucceeded, job.progress.ended);
  }
}

std::optional<JobId> SizedReference::Offer(const ClusterState& state, SlotKind kind, Micros now,
                                           const Take& take) const {
  std::vector<JobId> jobs, new_jobs;
  for (const QueueKey& key : state.RunnableJobs(kind)) {
    (jobs_[kind.task()].contains(key.job) ? jobs : new_jobs).push_back(key.job);
  }
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) { return Before(state, kind, now, a, b); });
  std::sort(new_jobs.begin(), new_jobs.end());
  jobs.insert(jobs.end(), new_jobs.begin(), new_jobs.end());
  const auto taker = std::find_if(jobs.begin(), jobs.end(), take);
  return taker == jobs.end() ? std::nullopt : std::optional(*taker);
}

bool PsbsReference::Before(const ClusterState& state, SlotKind kind, Micros, JobId a, JobId b) const {
  const VirtualJob &of_a = jobs_[kind.task()].at(a), &of_b = jobs_[kind.task()].at(b);
  const bool late = of_a.left <= 0;
  if (late != (of_b.left <= 0)) return late;
  const Micros running_a = state.FindJob(a)->running_attempts[kind],
               running_b = state.FindJob(b)->running_attempts[kind];
  if (late && running_a * of_b.weight != running_b * of_a.weight) {
    return running_a * of_b.weight < running_b * of_a.weight;
  }
  return std::pair(of_a.left, a) < std::pair(of_b.left, b);
}

void PsbsReference::Work(TaskKind phase, Micros slots, Micros passed, Micros) {
  std::vector<std::pair<Micros*, Micros>> members;
  for (auto& [id, job] : jobs_[phase]) members.emplace_back(&job.left, job.weight);
  undivided_[phase] = Share(undivided_[phase] + slots * passed, members, [](Micros, Micros) {});
}

void PsbsReference::Resize(TaskKind phase, JobId id, Micros work, Micros weight, Micros) {
  VirtualJob& job = jobs_[phase].at(id);
  if (job.work == 0) {  // it enters
    job.left = work / weight;
  } else if (job.weight == weight) {
    job.left += work / weight - job.work / weight;
  } else {
    const Micros served = (job.work / job.weight - std::max<Micros>(job.left, 0)) * job.weight;
    job.left = work / weight - served / weight;
  }
  job.work = work;
  job.weight = weight;
}

void PsbsReference::End(TaskKind phase, JobId job, bool served, Micros) {
  // One that was served stays: nobody asks for its rank.
  if (!served) jobs_[phase].erase(job);
}

bool UwfqReference::Before(const ClusterState&, SlotKind kind, Micros, JobId a, JobId b) const {
  const Micros of_a = jobs_[kind.task()].at(a).deadline, of_b = jobs_[kind.task()].at(b).deadline;
  return std::pair(of_a, a) < std::pair(of_b, b);
}

// Returns the user's jobs in the order in which they end.
std::vector<VirtualJob*> UwfqReference::JobsOf(TaskKind phase, const std::string& user) {
  std::vector<VirtualJob*> jobs;
  for (auto& [id, job] : jobs_[phase]) {
    if (job.user == user) jobs.push_back(&job);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const auto* a, const auto* b) { return a->left < b->left; });
  return jobs;
}

void UwfqReference::Serve(TaskKind phase, const std::string& name, Micros work) {
  User& user = users_[phase][name];
  std::vector<std::pair<Micros*, Micros>> jobs;
  for (VirtualJob* job : JobsOf(phase, name)) jobs.emplace_back(&job->left, 1);
  user.undivided = Share(user.undivided + work, jobs, [](Micros, Micros) {});
}

void UwfqReference::Work(TaskKind phase, Micros slots, Micros passed, Micros now) {
  std::vector<std::pair<Micros*, Micros>> members;
  for (auto& [name, user] : users_[phase]) members.emplace_back(&user.left, 1);
  std::map<std::string, bool> had;
  for (auto& [name, user] : users_[phase]) had[name] = user.left > 0;
  undivided_[phase] = Share(undivided_[phase] + slots * passed, members, [&](Micros each, Micros left) {
    g_[phase] += each;
    for (auto& [name, user] : users_[phase]) {
      Serve(phase, name, each);
      if (std::exchange(had[name], user.left > 0) && user.left <= 0) {
        user.idle_since = now - left / std::max<Micros>(slots, 1);
      }
    }
  });
}

void UwfqReference::Settle(TaskKind phase, const std::string& name, Micros now) {
  User& user = users_[phase].at(name);
  const bool had_work = user.left > 0;
  user.left = -user.undivided;
  user.last = user.base;
  bool working = false;
  for (VirtualJob* job : JobsOf(phase, name)) {
    user.left += std::max<Micros>(job->left, 0);
    working |= job->left > 0;
    user.last = job->deadline = std::max(user.last, job->start) + job->work;
  }
  if (had_work && !working) user.idle_since = now;
  for (const VirtualJob* job : JobsOf(phase, name)) {
    if (job->left > 0 || !job->ended) break;
    user.base = job->deadline;
    std::erase_if(jobs_[phase], [&](const auto& at) { return &at.second == job; });
  }
}

void UwfqReference::Resize(TaskKind phase, JobId id, Micros work, Micros weight, Micros now) {
  VirtualJob& job = jobs_[phase].at(id);
  User& user = users_[phase][job.user];
  Serve(phase, job.user, 0);
  bool working = false;
  for (const VirtualJob* other : JobsOf(phase, job.user)) working |= other->left > 0;
  if (!working) {
    const bool soon = user.idle_since && now - *user.idle_since <= grace_;
    user.start = soon ? user.last : g_[phase];
  }
  if (job.work == 0) job.start = user.start;
  job.left += work - job.work;
  job.work = work;
  job.weight = weight;  // which does not count, but is noticed when it changes
  Settle(phase, job.user, now);
}

void UwfqReference::End(TaskKind phase, JobId id, bool served, Micros now) {
  VirtualJob& job = jobs_[phase].at(id);
  const std::string user = job.user;
  Serve(phase, user, 0);
  job.ended = true;
  if (!served) jobs_[phase].erase(id);
  Settle(phase, user, now);
}

}  // namespace millrace::sched
