// SPDX-License-Identifier: Apache-2.0
// Jobs that cannot go on because no node has room for what their maps would write (Zaharia et al. section 5.4).
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "schedulers/core/engine_impl.h"
#include "schedulers/core/misfit.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kMostEvictions = 3;  // of a job that alone holds what it waits for
// With more jobs than this EndBlocking does not look at them in each round, but a few times in Policy::gives_up_after.
constexpr std::size_t kFewJobs = 64;
constexpr Micros kLooks = 60;
constexpr Micros kNodesTellWithin = 10 * kSecond;  // what room they have, since outputs were deleted

// Returns true if the job has maps left and holds something that others could use: reduce slots, or room for outputs.
bool Holds(const JobState& job) {
  if (job.held || job.Demand(TaskKind::kMap) == 0 || job.progress.reduces == 0) return false;
  return job.running_attempts[TaskKind::kReduce] > 0 || job.progress.maps_done > job.progress.maps_left_out;
}

double ShareDone(const JobState& job) {
  return static_cast<double>(job.progress.maps_done + job.progress.reduces_done) /
         static_cast<double>(job.progress.maps + job.progress.reduces);
}

// Returns true if some task runs, or may run soon, that can end without another map being placed.
bool SomethingGoesOn(const ClusterState& state) {
  if (state.Running(TaskKind::kMap) > 0 || !state.Paused().empty()) return true;
  return std::any_of(state.LiveJobs().begin(), state.LiveJobs().end(), [&](const QueueKey& key) {
    const JobState& job = *state.FindJob(key.job);
    const bool has_all_input = job.progress.maps_done == job.progress.maps;
    return job.running_attempts[kComputePermit] > 0 || (has_all_input && job.running_attempts[TaskKind::kReduce] > 0);
  });
}

// Returns true if another job would be given a slot that this one holds, or has a map to run where its outputs lie.
// Requires: no map runs anywhere.
bool OthersCouldUse(const ClusterState& state, const Policy& policy, const JobState& holder) {
  BytesByNode outputs;
  AddOutputs(holder, &outputs);
  const Room room = RoomOn(state, Places::kThatTakeMaps, outputs);
  return std::any_of(state.LiveJobs().begin(), state.LiveJobs().end(), [&](const QueueKey& key) {
    const JobState& job = *state.FindJob(key.job);
    if (&job == &holder || job.withheld()) return false;
    const bool for_map =
        job.runnable[kMapSlot] && policy.MayRun(state, TaskKind::kMap, key.job) && room.nodes > 0 && Fits(job, room);
    const bool for_reduce = holder.running_attempts[TaskKind::kReduce] > 0 && job.runnable[kReduceSlot] &&
                            policy.MayRun(state, TaskKind::kReduce, key.job);
    return for_map || for_reduce;
  });
}

// Returns true if another job lacks a slot that this one holds: no slot that is free suits its reduces. Or it lacks the
// room for a map that it would have if the outputs of this one were not there.
bool OthersLack(const ClusterState& state, const Policy& policy, const JobState& holder, const Room& room) {
  BytesByNode outputs;
  AddOutputs(holder, &outputs);
  const Room after = RoomOn(state, Places::kThatTakeMaps, outputs);
  const OrderedBits& free = state.FreeNodes(TaskKind::kReduce);
  return std::any_of(state.LiveJobs().begin(), state.LiveJobs().end(), [&](const QueueKey& key) {
    const JobState& job = *state.FindJob(key.job);
    if (&job == &holder || job.withheld()) return false;
    if (IsMisfit(job, room) && policy.MayRun(state, TaskKind::kMap, key.job) && Fits(job, after)) return true;
    return holder.running_attempts[TaskKind::kReduce] > 0 && job.runnable[kReduceSlot] &&
           policy.MayRun(state, TaskKind::kReduce, key.job) &&
           std::none_of(free.begin(), free.end(),
                        [&](std::uint32_t node) { return state.NextPendingReduce(key.job, NodeId{node}).has_value(); });
  });
}

// Returns true if the largest map of the job would fit on a node, were the outputs of all jobs not there, and no map
// ran.
bool WouldFitAlone(const ClusterState& state, const JobState& job) {
  BytesByNode outputs(state.node_ids());
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    if (const NodeState* node = state.FindNode(NodeId{id})) outputs[id] = node->reserved_bytes;
  }
  for (const QueueKey& key : state.LiveJobs()) AddOutputs(*state.FindJob(key.job), &outputs);
  return Fits(job, RoomOn(state, Places::kAvoidedToo, outputs));
}

// Returns the job that holds something, since that is what others wait for; else the first in the queue; null if each
// fits somewhere. No two jobs hold something when this is asked, since EvictIfStuck has come before.
const JobState* FirstMisfit(const ClusterState& state, const Room& room) {
  const JobState* first = nullptr;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if ((first == nullptr || Holds(job)) && IsMisfit(job, room)) first = &job;
  }
  return first;
}

// Returns true if `job` gives way rather than `other`.
bool GoesBefore(const JobState& job, const JobState& other, GivesWay gives_way) {
  const bool later = job.key.submit_order > other.key.submit_order;
  if (gives_way == GivesWay::kSubmittedLast || ShareDone(job) == ShareDone(other)) return later;
  return ShareDone(job) < ShareDone(other);
}

}  // namespace

bool Engine::Impl::EvictIfStuck(Effects& effects) {
  if (SomethingGoesOn(state)) return false;
  const JobState* victim = nullptr;
  std::uint32_t holders = 0;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (!Holds(job)) continue;
    ++holders;
    if (victim == nullptr || GoesBefore(job, *victim, policy->gives_way())) victim = &job;
  }
  if (victim == nullptr || !policy->WaitsForSpace(state, now)) return false;
  // A job that alone holds what it waits for gives way to those that hold nothing, unless it has done so often enough.
  if (holders == 1 && (victim->evictions >= kMostEvictions || !OthersCouldUse(state, *policy, *victim))) return false;
  effects.push_back(sched::Evict{victim->progress.job});
  Evict(victim->progress.job, effects);
  return true;
}

void Engine::Impl::Evict(JobId job, Effects& effects) {
  const JobState& evicted = *state.FindJob(job);
  state.Hold(job);
  still_since.reset();
  for (const TaskKind kind : kTaskKinds) {
    for (std::uint32_t index = 0; index < evicted.Tasks(kind).size(); ++index) {
      KillAttempts({job, kind, index}, "the job gives way for lack of space", effects);
    }
  }
  for (std::uint32_t map = 0; map < evicted.maps.size(); ++map) {
    if (evicted.progress.reduces > 0 && evicted.maps[map].succeeded()) LoseOutput(job, map, effects);
  }
  TellPolicy();
}

void Engine::Impl::NoteFreed() {
  freed_at = now;
  still_since.reset();
}

bool Engine::Impl::EndStandstill(Effects& effects) {
  const bool goes_on = state.LiveJobs().empty() || SomethingGoesOn(state);
  const bool for_space = !goes_on && policy->WaitsForSpace(state, now);
  if (!for_space && (goes_on || !state.AnyHeld())) {
    still_since.reset();
    return false;
  }
  if (!still_since) still_since = now;
  if (!IsOver(&*still_since)) return false;
  const Micros waited = now - *std::exchange(still_since, now);
  const Room room = RoomOn(state, Places::kAvoidedToo);
  if (const JobState* misfit = for_space ? FirstMisfit(state, room) : nullptr) {
    GiveUp(misfit->progress.job,
           MisfitInWords(*misfit, room, "nothing has run for " + FormatDuration(waited) + " that would free some"),
           effects);
    return true;
  }
  if (!state.AnyHeld()) return false;
  state.ReleaseHeld();
  return true;
}

bool Engine::Impl::EndBlocking(Effects& effects) {
  const bool few = state.LiveJobs().size() <= kFewJobs;
  if (!few && now < look_at &&
      std::ranges::none_of(blocks_since, [&](const auto& job) { return now >= job.second + GivesUpAfter(); }))
    return false;
  look_at = now + GivesUpAfter() / kLooks;
  const Room room = RoomOn(state, Places::kThatTakeMaps);
  std::map<JobId, Micros> since;
  const JobState* victim = nullptr;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (!Holds(job) || job.running_attempts[kMapSlot] > 0 || !IsMisfit(job, room)) continue;
    if (!OthersLack(state, *policy, job, room)) continue;
    const auto before = blocks_since.find(key.job);
    Micros& began = since[key.job] = before == blocks_since.end() ? now : before->second;
    if (IsOver(&began) && (victim == nullptr || GoesBefore(job, *victim, policy->gives_way()))) victim = &job;
  }
  blocks_since = std::move(since);
  if (victim == nullptr) return false;
  const JobId job = victim->progress.job;
  const Micros waited = now - blocks_since.at(job);
  blocks_since.erase(job);
  const bool room_is_known = !freed_at || now - *freed_at >= kNodesTellWithin;
  if (victim->evictions < kMostEvictions || !room_is_known || WouldFitAlone(state, *victim)) {
    effects.push_back(sched::Evict{job});
    Evict(job, effects);
    return true;
  }
  GiveUp(job,
         MisfitInWords(*victim, RoomOn(state, Places::kAvoidedToo),
                       "none of its maps has run for " + FormatDuration(waited) + ", it has given way to other jobs " +
                           std::to_string(victim->evictions) +
                           " times, and it would not fit without their outputs, either"),
         effects);
  return true;
}

void Engine::Impl::GiveUp(JobId job, const std::string& reason, Effects& effects) {
  effects.push_back(sched::GiveUp{job, reason});
  EndJob(job, JobOutcome::kFailed, reason, effects);
}

Micros Engine::Impl::GivesUpAfter() const { return std::max<Micros>(policy->gives_up_after(), 1); }

bool Engine::Impl::IsOver(Micros* since) const {
  const Micros end = *since + GivesUpAfter();
  if (now < end) return false;
  if (now <= end + std::max(GivesUpAfter() / 10, kSecond)) return true;
  *since = now;
  return false;
}

std::optional<Micros> Engine::Impl::StandstillEnd() const {
  std::optional<Micros> first = still_since;
  for (const auto& [job, since] : blocks_since) first = std::min(first.value_or(since), since);
  return first ? std::optional(*first + GivesUpAfter()) : std::nullopt;
}

bool Engine::Impl::On(const JobGivenUp& event, Effects& effects) {
  if (FindLiveJob(event.job) == nullptr) return false;
  EndJob(event.job, JobOutcome::kFailed, event.reason, effects);
  return true;
}

bool Engine::Impl::On(const JobEvicted& event, Effects& effects) {
  if (FindLiveJob(event.job) == nullptr) return false;
  Evict(event.job, effects);
  return true;
}

}  // namespace millrace::sched
