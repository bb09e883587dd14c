// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/locality_wait.h"

#include <algorithm>
#include <utility>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

constexpr Locality kFarther[] = {Locality::kRack, Locality::kDatacenter, Locality::kOff};
constexpr TaskKind kMaps = TaskKind::kMap;

// Returns how many pending maps of the job have input with a known location.
std::uint32_t Located(const JobState& job) {
  return job.pending_maps.all().size() - job.pending_maps.unlocated().size();
}

}  // namespace

LocalityWait::LocalityWait(const DelaySettings& settings, const LevelBandwidths& bandwidths)
    : settings_(settings), bandwidths_(bandwidths) {}

std::unique_ptr<LocalityGate> LocalityWait::Clone() const {
  auto copy = std::make_unique<LocalityWait>(settings_, bandwidths_);
  copy->clocks_ = clocks_;
  copy->due_ = due_;
  copy->raised_ = raised_;
  copy->to_judge_ = to_judge_;
  copy->nodes_version_ = nodes_version_;
  copy->racks_ = racks_;
  copy->datacenters_ = datacenters_;
  copy->advanced_ = advanced_;
  return copy;
}

void LocalityWait::OnJobSubmitted(const ClusterState& state, JobId job) {
  JobClock& clock = clocks_[job];
  const std::vector<Micros>& own = state.FindJob(job)->spec.locality_waits;
  const Micros common[] = {settings_.rack_wait, settings_.datacenter_wait, settings_.off_wait};
  for (std::size_t i = 0; i < 3; ++i) {
    clock.waits[i] = std::max<Micros>(own.empty() ? common[i] : own[std::min(i, own.size() - 1)], 0);
  }
}

void LocalityWait::OnJobEnded(const ClusterState&, JobId job) {
  SetDue(job, Of(job), std::nullopt);
  std::erase(raised_, job);
  std::erase(to_judge_, job);
  clocks_.Erase(job);
}

Micros LocalityWait::WaitTo(const JobClock& clock, Locality level, const Topology& topology) {
  if (level == Locality::kDatacenter && topology.racks() <= topology.datacenters()) return 0;
  if (level == Locality::kOff && topology.datacenters() <= 1) return 0;
  return clock.waits[static_cast<std::size_t>(level) - 1];
}

Locality LocalityWait::Worst(const ClusterState& state, JobId job, Micros now) const {
  const JobClock& clock = Of(job);
  if (clock.at_once) return Locality::kOff;
  Micros left = clock.since ? now - *clock.since : 0;
  Locality worst = clock.level;
  for (const Locality level : kFarther) {
    if (level <= worst) continue;
    const Micros wait = WaitTo(clock, level, state.topology());
    if (wait > left) break;
    left -= wait;
    worst = level;
  }
  return worst;
}

std::optional<Micros> LocalityWait::NextLevel(const JobClock& clock, const Topology& topology, Micros now) {
  Micros at = *clock.since;
  for (const Locality level : kFarther) {
    if (level <= clock.level) continue;
    at += WaitTo(clock, level, topology);
    if (at > now) return at;
  }
  return std::nullopt;
}

void LocalityWait::SetDue(JobId job, JobClock& clock, std::optional<Micros> due) {
  if (clock.due == due) return;
  if (clock.due) due_.Erase({*clock.due, job});
  clock.due = due;
  if (due) due_.Insert({*due, job});
}

void LocalityWait::StopClock(JobId job, JobClock& clock) {
  clock.since.reset();
  SetDue(job, clock, std::nullopt);
}

void LocalityWait::OnSkipped(const ClusterState& state, JobId job, NodeId node, Micros now) {
  JobClock& clock = Of(job);
  if (clock.since || clock.at_once || Worst(state, job, now) == Locality::kOff) return;
  if (Located(*state.FindJob(job)) == 0) return;  // there is no place to wait for
  if (settings_.mode == DelaySettings::Mode::kAuto && !WorthWaiting(state, *state.FindJob(job), node)) {
    clock.at_once = true;
    return;
  }
  clock.since = now;
  SetDue(job, clock, NextLevel(clock, state.topology(), now));
}

void LocalityWait::OnLaunched(const ClusterState&, JobId job, Locality locality, Micros) {
  JobClock& clock = Of(job);
  StopClock(job, clock);
  if (!clock.at_once) clock.level = locality;
  if (settings_.mode != DelaySettings::Mode::kAuto) return;
  clock.at_once = false;
  if (!std::exchange(clock.to_judge, true)) to_judge_.push_back(job);
}

bool LocalityWait::Outnumbers(const ClusterState& state, JobId job) {
  const JobState& known = *state.FindJob(job);
  const std::uint32_t pending = Located(known);
  return pending > state.Capacity(TaskKind::kMap) || pending > SlotsAtData(state, known);
}

std::uint32_t LocalityWait::SlotsAtData(const ClusterState& state, const JobState& job) {
  JobClock& clock = Of(job.progress.job);
  const std::uint32_t pending = Located(job);
  const bool near = pending <= clock.counted_pending && clock.counted_pending - pending <= clock.counted_pending / 16;
  if (near && clock.counted_version == nodes_version_) return clock.slots;
  clock.counted_pending = pending;
  clock.counted_version = nodes_version_;
  clock.slots = 0;
  // Only mode = auto judges what a wait is worth and needs the whole count. Otherwise it is enough to know that there
  // are as many slots as maps.
  const std::uint32_t enough = settings_.mode == DelaySettings::Mode::kAuto ? 0xffffffff : pending;
  job.pending_maps.VisitNodes([&](NodeId id) {
    const NodeState* node = state.FindNode(id);
    if (node != nullptr) clock.slots += node->counted.maps;
    return clock.slots < enough;
  });
  return clock.slots;
}

std::optional<double> LocalityWait::CostOfDistance(const ClusterState& state, const JobState& job, NodeId node) const {
  const RunTimes& times = job.times[kMaps];
  if (const std::uint32_t far = times.finished - times.local; far > 0 && times.local > 0) {
    return static_cast<double>(times.finished_total - times.local_total) / far -
           static_cast<double>(times.local_total) / times.local;
  }
  const MapInput& input = job.spec.maps[job.pending_maps.all().First()];
  double best = 0;
  for (const NodeId replica : input.replicas) {
    if (replica == node || state.topology().Of(replica) == Location{}) continue;
    best = std::max(best, state.bandwidths().Between(replica, node, state.topology(), bandwidths_));
  }
  if (best == 0) return std::nullopt;
  return static_cast<double>(input.bytes) / best * kSecond;
}

bool LocalityWait::WorthWaiting(const ClusterState& state, const JobState& job, NodeId node) {
  const auto cost = CostOfDistance(state, job, node);
  const std::uint32_t slots = SlotsAtData(state, job);
  if (!cost || slots == 0) return false;
  const Micros map_time = state.MeanTime(TaskKind::kMap).value_or(MeasuredTime(state, job, TaskKind::kMap));
  return *cost > static_cast<double>(map_time) / slots;
}

std::optional<Micros> LocalityWait::NextWake(const ClusterState&) const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

// If the nodes form a new level (a second rack or datacenter), jobs that already wait have to wait for that level too.
void LocalityWait::OnNodesChanged(const ClusterState& state) {
  ++nodes_version_;
  const Topology& topology = state.topology();
  if (racks_ == topology.racks() && datacenters_ == topology.datacenters()) return;
  racks_ = topology.racks();
  datacenters_ = topology.datacenters();
  clocks_.ForEach([&](JobId job, JobClock& clock) {
    if (clock.since) SetDue(job, clock, NextLevel(clock, topology, advanced_));
  });
}

void LocalityWait::Advance(const ClusterState& state, Micros now) {
  advanced_ = now;
  while (!due_.empty() && due_.begin()->first <= now) {
    const JobId job = due_.begin()->second;
    SetDue(job, Of(job), NextLevel(Of(job), state.topology(), now));
    Raise(job, Of(job));
  }
}

void LocalityWait::Raise(JobId job, JobClock& clock) {
  if (!std::exchange(clock.raised, true)) raised_.push_back(job);
}

std::vector<JobId> LocalityWait::TakeRaised(const ClusterState& state, Micros now) {
  Advance(state, now);
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  for (const JobId job : to_judge_) {
    const JobState& known = *state.FindJob(job);
    Of(job).to_judge = false;
    if (free.empty() || known.pending_maps.all().empty() || Of(job).since || Of(job).at_once) continue;
    Of(job).at_once = !WorthWaiting(state, known, NodeId{free.First()});
    if (Of(job).at_once) Raise(job, Of(job));
  }
  to_judge_.clear();
  for (const JobId job : raised_) Of(job).raised = false;
  return std::exchange(raised_, {});
}

std::optional<Micros> LocalityWait::WaitingSince(JobId job) const {
  const JobClock* const clock = clocks_.Find(job);
  return clock == nullptr ? std::nullopt : clock->since;
}

std::optional<Micros> LocalityWait::WaitingUntil(const ClusterState& state, JobId job, Micros now) const {
  const JobClock& clock = Of(job);
  return clock.since ? NextLevel(clock, state.topology(), now) : std::nullopt;
}

std::vector<Fact> LocalityWait::Facts() const {
  return {Fact::Words("delay.mode", settings_.mode == DelaySettings::Mode::kAuto ? "auto" : "fixed"),
          Fact::Seconds("delay.rack_wait", settings_.rack_wait),
          Fact::Seconds("delay.datacenter_wait", settings_.datacenter_wait),
          Fact::Seconds("delay.off_wait", settings_.off_wait)};
}

}  // namespace millrace::sched
