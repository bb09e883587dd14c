#include "schedulers/policies/cp/cp_order.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace millrace::sched {
namespace {

constexpr TaskKind kMap = TaskKind::kMap;
constexpr TaskKind kReduce = TaskKind::kReduce;
constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

Micros DeadlineOf(const JobState& job) {
  return job.spec.deadline > 0 ? job.spec.deadline : std::numeric_limits<Micros>::max();
}

bool MapsDone(const JobState& job) { return job.progress.maps_done == job.progress.maps; }

}  // namespace

void CpOrder::Follow(const ClusterState& state, const Plan& plan) {
  for (auto& [id, entry] : entries_) {
    entry.chunks.clear();
    entry.next = 0;
    for (Place& place : entry.places) place.position = kEnd, place.planned = false;
  }
  for (std::size_t i = 0; i < plan.maps.size(); ++i) {
    const auto at = entries_.find(plan.maps[i].job);
    if (at != entries_.end()) at->second.chunks.push_back({i, plan.maps[i].maps});
  }
  for (std::size_t i = 0; i < plan.reduces.size(); ++i) {
    const auto at = entries_.find(plan.reduces[i]);
    if (at == entries_.end()) continue;
    Entry& entry = at->second;
    std::uint32_t planned = 0;
    for (const Chunk& chunk : entry.chunks) planned += chunk.maps;
    if (planned > entry.pending[kMap]) TakeOff(&entry, planned - entry.pending[kMap]);
    for (Place& place : entry.places) place.position = i, place.planned = true;
    if (!entry.chunks.empty()) entry.places[kMap].position = entry.chunks[entry.next].position;
  }
  for (auto& [id, entry] : entries_) {
    if (!entry.places[kMap].planned) PlaceByDeadline(*state.FindJob(id), &entry);
  }
  for (std::set<Place>& runnable : runnable_) runnable.clear();
  for (const auto& [id, entry] : entries_) Enlist(*state.FindJob(id), entry);
}

std::vector<JobId> CpOrder::Jobs() const {
  std::vector<Place> places;
  for (const auto& [id, entry] : entries_) places.push_back(entry.places[kMap]);
  std::sort(places.begin(), places.end());
  std::vector<JobId> jobs;
  for (const Place& place : places) jobs.push_back(place.job);
  return jobs;
}

void CpOrder::OnJobSubmitted(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  Entry entry;
  for (const TaskKind kind : kTaskKinds) entry.pending[kind] = job.Pending(kind).size();
  PlaceByDeadline(job, &entry);
  Enlist(job, entries_[id] = entry);
}

void CpOrder::OnJobEnded(const ClusterState&, JobId job) {
  const auto at = entries_.find(job);
  Delist(at->second);
  entries_.erase(at);
}

void CpOrder::OnJobChanged(const ClusterState& state, JobId id) {
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  const JobState& job = *state.FindJob(id);
  Delist(entry);
  const std::uint32_t before = entry.pending[kMap];
  for (const TaskKind kind : kTaskKinds) {
    std::uint32_t& pending = entry.pending[kind];
    tasks_returned_ |= job.Pending(kind).size() > pending;
    pending = job.Pending(kind).size();
  }
  const std::uint32_t maps = entry.pending[kMap];
  if (maps < before) TakeOff(&entry, before - maps);
  if (maps > before && !entry.chunks.empty()) entry.chunks[entry.next].maps += maps - before;
  if (!entry.chunks.empty()) entry.places[kMap].position = entry.chunks[entry.next].position;
  Enlist(job, entry);
}

std::optional<JobId> CpOrder::Offer(const ClusterState&, TaskKind kind, Micros, const Take& take) const {
  for (const Place& place : runnable_[kind]) {
    if (take(place.job)) return place.job;
  }
  return std::nullopt;
}

bool CpOrder::Before(const ClusterState&, TaskKind kind, Micros, JobId a, JobId b) const {
  return entries_.at(a).places[kind] < entries_.at(b).places[kind];
}

bool CpOrder::MayRun(const ClusterState& state, TaskKind kind, JobId job) const {
  return kind == TaskKind::kMap || MapsDone(*state.FindJob(job));
}

PerKind<bool> CpOrder::BeginRound(const ClusterState&, Micros) { return {false, std::exchange(let_in_, false)}; }

PolicyView CpOrder::View(const ClusterState& state, Micros) const {
  PolicyView view;
  for (const auto& [id, entry] : entries_) {
    const JobState& job = *state.FindJob(id);
    if (job.runnable[kReduce] && !MapsDone(job)) {
      view.waits.push_back({id, TaskKind::kReduce, "its maps are not done"});
    }
  }
  return view;
}

void CpOrder::PlaceByDeadline(const JobState& job, Entry* entry) const {
  const Micros deadline = DeadlineOf(job);
  for (Place& place : entry->places) place = {kEnd, false, deadline, job.key.submit_order, job.key.job};
  for (const auto& [id, other] : entries_) {
    if (!other.places[kMap].planned || other.places[kMap].deadline <= deadline) continue;
    for (const TaskKind kind : kTaskKinds) {
      entry->places[kind].position = std::min(entry->places[kind].position, other.places[kind].position);
    }
  }
}

void CpOrder::TakeOff(Entry* entry, std::uint32_t maps) {
  while (maps > 0 && entry->next < entry->chunks.size()) {
    Chunk& chunk = entry->chunks[entry->next];
    const std::uint32_t taken = std::min(maps, chunk.maps);
    chunk.maps -= taken;
    maps -= taken;
    if (chunk.maps > 0) return;
    if (entry->next + 1 == entry->chunks.size()) return;
    ++entry->next;
  }
}

void CpOrder::Enlist(const JobState& job, const Entry& entry) {
  if (job.runnable[kMap]) runnable_[kMap].insert(entry.places[kMap]);
  if (!job.runnable[kReduce] || !MapsDone(job)) return;
  runnable_[kReduce].insert(entry.places[kReduce]);
  let_in_ = true;
}

void CpOrder::Delist(const Entry& entry) {
  for (const TaskKind kind : kTaskKinds) runnable_[kind].erase(entry.places[kind]);
}

}  // namespace millrace::sched
