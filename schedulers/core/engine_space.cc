// Jobs that cannot go on because no node has room for what their maps would write (Zaharia et al. section 5.4).
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schedulers/core/engine_impl.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kMostEvictions = 3;  // of a job that alone holds what it waits for

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

// Returns the pending map of the job that is expected to write most. Requires: it has one.
std::uint32_t LargestMap(const JobState& job) {
  std::uint32_t largest = job.pending_maps.all().First();
  for (const std::uint32_t map : job.pending_maps.all()) {
    if (job.spec.maps[map].bytes > job.spec.maps[largest].bytes) largest = map;
  }
  return largest;
}

// Returns true if the job's largest map might fit on some node, were the outputs of the holder not there.
bool MightFitInstead(const ClusterState& state, const JobState& job, const JobState& holder) {
  const std::uint64_t writes = job.ExpectedOutput(LargestMap(job));
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr || !node->TakesTasks() || node->limits.maps == 0) continue;
    if (!node->free_bytes || writes <= *node->free_bytes + holder.map_output_bytes) return true;
  }
  return false;
}

// Returns true if another job would be given a slot that this one holds, or has a map to run where its outputs lie.
bool OthersCouldUse(const ClusterState& state, const Policy& policy, const JobState& holder) {
  return std::any_of(state.LiveJobs().begin(), state.LiveJobs().end(), [&](const QueueKey& key) {
    const JobState& job = *state.FindJob(key.job);
    if (&job == &holder || job.held) return false;
    const bool for_map =
        job.runnable[kMapSlot] && policy.MayRun(state, TaskKind::kMap, key.job) && MightFitInstead(state, job, holder);
    const bool for_reduce = holder.running_attempts[TaskKind::kReduce] > 0 && job.runnable[kReduceSlot] &&
                            policy.MayRun(state, TaskKind::kReduce, key.job);
    return for_map || for_reduce;
  });
}

// The map of a job that is expected to write most, and the node that has most room among those that take maps.
struct Misfit {
  JobId job;
  std::uint32_t map = 0;
  std::uint32_t nodes = 0;
  NodeId roomiest;
  std::uint64_t room = 0;
};

// Returns nothing if some node has room for each of the job's pending maps, or if no node takes maps.
std::optional<Misfit> MisfitOf(const ClusterState& state, const JobState& job) {
  if (!job.runnable[kMapSlot]) return std::nullopt;
  Misfit misfit;
  misfit.job = job.progress.job, misfit.map = LargestMap(job);
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr || !node->TakesTasks() || node->limits.maps == 0) continue;
    if (!state.LacksSpace(job, misfit.map, node->id)) return std::nullopt;
    if (misfit.nodes++ > 0 && *node->free_bytes <= misfit.room) continue;
    misfit.roomiest = node->id, misfit.room = *node->free_bytes;
  }
  return misfit.nodes > 0 ? std::optional(misfit) : std::nullopt;
}

// Returns that of a job that holds something, since that is what others wait for; else of the first job in the queue.
std::optional<Misfit> FirstMisfit(const ClusterState& state) {
  std::optional<Misfit> first;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (first && !Holds(job)) continue;
    const std::optional<Misfit> misfit = MisfitOf(state, job);
    if (!misfit) continue;
    first = misfit;
    if (Holds(job)) break;
  }
  return first;
}

// "1.5 GiB", "12 B"
std::string BytesInWords(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); value /= 1024) ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ", value);
  return text + std::string(kUnits[unit]);
}

std::string InWords(const Misfit& misfit, const ClusterState& state, Micros waited) {
  const JobState& job = *state.FindJob(misfit.job);
  const std::string room = misfit.nodes == 1
                               ? "the only worker that takes maps, " + std::to_string(misfit.roomiest.value) + ", has "
                               : "of " + std::to_string(misfit.nodes) + " workers that take maps worker " +
                                     std::to_string(misfit.roomiest.value) + " has most room, ";
  return "its map outputs do not fit: map " + std::to_string(misfit.map) + " is expected to write " +
         BytesInWords(job.ExpectedOutput(misfit.map)) + ", and " + room + BytesInWords(misfit.room) +
         "; nothing has run for " + FormatDuration(waited) +
         " that would free some. Free space on the workers' disks or add workers, or have the maps write less (a "
         "combiner, compression)";
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
    const bool later = victim == nullptr || job.key.submit_order > victim->key.submit_order;
    const bool less = victim == nullptr || ShareDone(job) < ShareDone(*victim);
    const bool same = victim != nullptr && ShareDone(job) == ShareDone(*victim);
    if (policy->gives_way() == GivesWay::kSubmittedLast ? later : less || (same && later)) victim = &job;
  }
  if (victim == nullptr || !policy->WaitsForSpace(state, now)) return false;
  // A job that alone holds what it waits for gives way to those that hold nothing, unless it has done so often enough.
  if (holders == 1 && (victim->evictions >= kMostEvictions || !OthersCouldUse(state, *policy, *victim))) return false;
  const JobId job = victim->progress.job;
  effects.push_back(sched::Evict{job});
  Evict(job, effects);
  return true;
}

void Engine::Impl::Evict(JobId job, Effects& effects) {
  const JobState& evicted = *state.FindJob(job);
  state.Hold(job);
  still_since = now;
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

bool Engine::Impl::EndStandstill(Effects& effects) {
  const bool goes_on = state.LiveJobs().empty() || SomethingGoesOn(state);
  const bool for_space = !goes_on && policy->WaitsForSpace(state, now);
  if (!for_space && (goes_on || !state.AnyHeld())) {
    still_since.reset();
    return false;
  }
  if (!still_since) still_since = now;
  if (now < *StandstillEnd()) return false;
  const Micros waited = now - *std::exchange(still_since, now);
  if (const auto misfit = for_space ? FirstMisfit(state) : std::nullopt) {
    const std::string reason = InWords(*misfit, state, waited);
    effects.push_back(GiveUp{misfit->job, reason});
    EndJob(misfit->job, JobOutcome::kFailed, reason, effects);
    return true;
  }
  if (!state.AnyHeld()) return false;
  state.ReleaseHeld();
  return true;
}

std::optional<Micros> Engine::Impl::StandstillEnd() const {
  if (!still_since) return std::nullopt;
  return *still_since + std::max<Micros>(policy->gives_up_after(), 1);
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
