#include "schedulers/policies/fresh/reference.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

using Phase = PhaseAdmission::Phase;

// One play of the batch. W_i is the work that job i has left in its phase.
class AlgorithmOne {
 public:
  AlgorithmOne(const std::vector<PhaseProfile>& batch, double s_m, double s_r, std::size_t k)
      : batch_(batch), left_(batch.size()), s_m_(s_m), s_r_(s_r), k_(k == 0 ? batch.size() : k) {
    for (std::size_t i = 0; i < batch.size(); ++i) left_[i] = batch[i].MapWork();
    while (maps_.size() < k_ && next_ < batch.size()) maps_.push_back(next_++);
  }

  double Play() {
    while (!maps_.empty() || !reduces_.empty()) {
      const auto u = Least(maps_), v = Least(reduces_);
      const double c_m = s_m_ / static_cast<double>(maps_.size()), c_r = s_r_ / static_cast<double>(reduces_.size());
      const bool map = v == reduces_.end() || (u != maps_.end() && left_[*u] / c_m < left_[*v] / c_r);
      const double dt = map ? left_[*u] / c_m : left_[*v] / c_r;
      time_ += dt;
      for (const std::size_t i : maps_) left_[i] -= dt * c_m;
      for (const std::size_t i : reduces_) left_[i] -= dt * c_r;
      map ? EndMaps(u) : EndReduces(v);
    }
    return time_;
  }

 private:
  using Set = std::vector<std::size_t>;
  Set::iterator Least(Set& set) {
    return std::min_element(set.begin(), set.end(), [&](auto a, auto b) { return left_[a] < left_[b]; });
  }
  void EndMaps(Set::iterator at) {
    const std::size_t job = *at;
    maps_.erase(at);
    if (next_ < batch_.size()) maps_.push_back(next_++);
    if (batch_[job].ReduceWork() == 0) return;
    left_[job] = batch_[job].ReduceWork();
    if (reduces_.size() < k_) {
      reduces_.push_back(job);
    } else {
      ready_.push_back(job);
    }
  }
  void EndReduces(Set::iterator at) {
    reduces_.erase(at);
    if (ready_.empty()) return;
    reduces_.push_back(ready_.front());
    ready_.pop_front();
  }

  const std::vector<PhaseProfile>& batch_;
  std::vector<double> left_;
  double s_m_, s_r_;
  std::size_t k_, next_ = 0;
  Set maps_, reduces_;
  std::deque<std::size_t> ready_;
  double time_ = 0;
};

Micros MeanTime(const ClusterState& state, TaskKind kind) { return state.MeanTime(kind).value_or(kUnknownTaskTime); }

// w'_m or w'_r.
double PendingWork(const ClusterState& state, const JobState& job, TaskKind kind) {
  const Micros time = OwnMeasuredTime(job, kind).value_or(MeanTime(state, kind));
  return static_cast<double>(job.Pending(kind).size()) * static_cast<double>(time);
}

std::vector<const JobState*> JobsIn(const ClusterState& state, const PhaseAdmission& admission,
                                    std::initializer_list<Phase> phases) {
  std::vector<const JobState*> jobs;
  for (const QueueKey& key : state.LiveJobs()) {
    const Phase phase = admission.PhaseOf(key.job);
    if (std::find(phases.begin(), phases.end(), phase) != phases.end()) jobs.push_back(state.FindJob(key.job));
  }
  return jobs;
}

// Returns a, the job with the least w'_m. Of jobs without a time of their own the one with the fewest pending maps has
// least, though the cluster's mean may be 0.
const JobState* LeastMapWork(const ClusterState& state, const std::vector<const JobState*>& jobs) {
  const auto work = [&](const JobState* job) {
    return std::pair(PendingWork(state, *job, TaskKind::kMap), job->progress.job);
  };
  const auto tasks = [](const JobState* job) { return std::pair(job->pending_maps.all().size(), job->progress.job); };
  const JobState *timed = nullptr, *untimed = nullptr;
  for (const JobState* job : jobs) {
    if (OwnMeasuredTime(*job, TaskKind::kMap)) {
      if (timed == nullptr || work(job) < work(timed)) timed = job;
    } else {
      if (untimed == nullptr || tasks(job) < tasks(untimed)) untimed = job;
    }
  }
  if (timed == nullptr || untimed == nullptr) return timed == nullptr ? untimed : timed;
  return work(untimed) < work(timed) ? untimed : timed;
}

PhaseOutlook OutlookOf(const ClusterState& state, const PhaseAdmission& admission) {
  const auto in_map_phase = JobsIn(state, admission, {Phase::kMap});
  PhaseOutlook outlook;
  for (const JobState* job : in_map_phase) outlook.map_work += PendingWork(state, *job, TaskKind::kMap);
  for (const JobState* job : JobsIn(state, admission, {Phase::kReady, Phase::kReduce})) {
    outlook.reduce_work += PendingWork(state, *job, TaskKind::kReduce);
  }
  outlook.slots = state.TotalCapacity();
  outlook.map_slots = state.Running(TaskKind::kMap);
  outlook.map_jobs = static_cast<std::uint32_t>(in_map_phase.size());
  const std::uint32_t reduces = state.Running(TaskKind::kReduce);
  if (reduces > 0) outlook.reduce_interval = static_cast<double>(MeanTime(state, TaskKind::kReduce)) / reduces;
  const JobState* a = LeastMapWork(state, in_map_phase);
  if (a == nullptr) return outlook;
  outlook.progress = a->progress.maps == 0 ? 1 : static_cast<double>(a->progress.maps_done) / a->progress.maps;
  outlook.first_map_work = PendingWork(state, *a, TaskKind::kMap);
  outlook.first_reduce_work = PendingWork(state, *a, TaskKind::kReduce);
  outlook.first_slots = a->running_attempts[TaskKind::kMap];
  if (const auto b = admission.NextToEnter()) {
    outlook.next_map_work = PendingWork(state, *state.FindJob(*b), TaskKind::kMap);
  }
  return outlook;
}

// Returns C of Algorithm 4, the least served first: the jobs that may run a task of the kind, but for repairs.
std::vector<JobId> Candidates(const ClusterState& state, const PhaseAdmission& admission, TaskKind kind, Micros now) {
  std::vector<ServiceFraction> services;
  for (const QueueKey& key : state.RunnableJobs(kind)) {
    const bool repair = kind == TaskKind::kMap && admission.InRepair(state, key.job);
    if (repair || !admission.MayRun(state, kind, key.job)) continue;
    services.push_back(ServiceOf(*state.FindJob(key.job), now));
  }
  std::sort(services.begin(), services.end(), LeastServedFirst);
  std::vector<JobId> jobs;
  for (const ServiceFraction& service : services) jobs.push_back(service.job);
  return jobs;
}

}  // namespace

double PlayAlgorithmOne(const std::vector<PhaseProfile>& batch, double s_m, double s_r, std::uint32_t k) {
  return AlgorithmOne(batch, s_m, s_r, k).Play();
}

bool LeastServedFirst(const ServiceFraction& a, const ServiceFraction& b) {
  const __int128 left = static_cast<__int128>(a.used) * b.age * b.weight;
  const __int128 right = static_cast<__int128>(b.used) * a.age * a.weight;
  if (left != right) return left < right;
  const std::uint64_t fewer = std::uint64_t{a.running} * b.weight, than = std::uint64_t{b.running} * a.weight;
  return std::pair(fewer, a.job) < std::pair(than, b.job);
}

ServiceFraction ServiceOf(const JobState& job, Micros now) {
  constexpr std::uint32_t kWeights[] = {16, 8, 4, 2, 1};
  ServiceFraction service{job.progress.job};
  service.weight = kWeights[static_cast<std::size_t>(job.progress.priority)];
  Micros used = 0;
  for (const TaskKind kind : kTaskKinds) {
    used += job.times[kind].ended_total;
    for (const TaskState& task : job.Tasks(kind)) {
      service.running += static_cast<std::uint32_t>(task.running.size());
      for (const RunningAttempt& attempt : task.running) used += now - attempt.since;
    }
  }
  if (!job.started || job.progress.started >= now) return service;
  service.used = used;
  service.age = now - job.progress.started;
  return service;
}

std::optional<Decision> FreshDynamicReference::Next(const ClusterState& state, const PhaseAdmission& admission,
                                                    Micros now) {
  std::vector<JobId> repairs;
  for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
    if (admission.InRepair(state, key.job)) repairs.push_back(key.job);
  }
  std::sort(repairs.begin(), repairs.end());
  const bool slot_for_map = std::exchange(slot_for_map_, false);
  for (const JobId job : repairs) {
    if (auto decision = LaunchOf(state, TaskKind::kMap, *state.FindJob(job))) return decision;
  }
  // Algorithm 2, then Algorithm 4 for the kind that it chose, then for the other.
  const PhaseOutlook outlook = OutlookOf(state, admission);
  const bool maps =
      slot_for_map || ExpectedMapSlots(outlook, settings_.tau_progress, settings_.tau_change) > outlook.map_slots;
  const TaskKind chosen = maps ? TaskKind::kMap : TaskKind::kReduce;
  for (const TaskKind kind : {chosen, maps ? TaskKind::kReduce : TaskKind::kMap}) {
    for (const JobId job : Candidates(state, admission, kind, now)) {
      if (auto decision = LaunchOf(state, kind, *state.FindJob(job))) return decision;
    }
  }
  return std::nullopt;
}

std::optional<Decision> FreshDynamicReference::LaunchOf(const ClusterState& state, TaskKind kind, const JobState& job) {
  const JobId id = job.progress.job;
  std::vector<NodeId> nodes;
  for (const std::uint32_t node : state.FreeNodes(kind)) nodes.push_back({node});
  if (kind == TaskKind::kMap && nodes.size() > 1) {
    const auto& replicas = job.spec.maps[*job.pending_maps.all().begin()].replicas;
    const auto at_data = std::find_if(nodes.begin(), nodes.end(), [&](NodeId node) {
      return std::find(replicas.begin(), replicas.end(), node) != replicas.end();
    });
    const auto map = at_data == nodes.end() ? std::nullopt : state.BestPendingMap(id, *at_data, Locality::kNode);
    if (map) return Decision{{id, kind, map->map}, *at_data, false, map->locality};
  }
  std::rotate(nodes.begin(), std::lower_bound(nodes.begin(), nodes.end(), NodeId{next_node_[kind]}), nodes.end());
  for (const NodeId node : nodes) {
    const auto map = kind == TaskKind::kMap ? state.BestPendingMap(id, node) : std::nullopt;
    const auto reduce = kind == TaskKind::kReduce ? state.NextPendingReduce(id, node) : std::nullopt;
    if (!map && !reduce) continue;
    next_node_[kind] = node.value + 1;
    if (reduce) return Decision{{id, kind, *reduce}, node};
    return Decision{{id, kind, map->map}, node, false, map->locality};
  }
  return std::nullopt;
}

}  // namespace millrace::sched
