// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/phase_admission.h"

#include <algorithm>
#include <utility>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

bool MapsDone(const JobState& job) { return job.progress.maps_done == job.progress.maps; }

bool ReducesBegan(const JobState& job) { return job.progress.reduces_running + job.progress.reduces_done > 0; }

}  // namespace

// A task counts as 1 us at least: what is left of a kind is work, and gets a slot, even if such tasks took no time so
// far.
PhaseProfile RemainingPhases(const ClusterState& state, const JobState& job) {
  const auto time = [&](TaskKind kind) { return std::max<Micros>(1, MeasuredTime(state, job, kind)); };
  return {job.progress.maps - job.progress.maps_done, time(TaskKind::kMap),
          job.progress.reduces - job.progress.reduces_done, time(TaskKind::kReduce)};
}

void PhaseAdmission::NoteChanged(JobId job) {
  if (!std::exchange(jobs_[job].changed, true)) changed_.push_back(job);
}

void PhaseAdmission::Enter(const JobState& job, Phase phase, const LinePlace& place) {
  JobPhase& known = jobs_[job.progress.job];
  Line(known.phase).erase(known.place);
  known.phase = phase;
  known.place = place;
  Line(phase).insert(place);
  NoteChanged(job.progress.job);
}

void PhaseAdmission::EnterWaiting(const ClusterState& state, const JobState& job) {
  LinePlace place{!job.started, JohnsonKey(PhaseProfile()), 0, job.key};
  if (settings_.order == FreshSettings::Order::kJohnson) place.rule = JohnsonKey(RemainingPhases(state, job));
  Enter(job, Phase::kWaiting, place);
}

void PhaseAdmission::OnJobSubmitted(const ClusterState& state, JobId job) { EnterWaiting(state, *state.FindJob(job)); }

void PhaseAdmission::OnJobPrioritySet(const ClusterState& state, JobId job) {
  const JobPhase& known = jobs_.At(job);
  if (known.phase != Phase::kWaiting) return;
  LinePlace place = known.place;
  place.key = state.FindJob(job)->key;
  Enter(*state.FindJob(job), Phase::kWaiting, place);
}

void PhaseAdmission::OnJobEnded(JobId job) {
  const JobPhase& known = jobs_.At(job);
  Line(known.phase).erase(known.place);
  jobs_.Erase(job);
  if (places_) places_->Give(job);
  waiting_changed_ = true;
}

void PhaseAdmission::OnJobChanged(JobId job) { NoteChanged(job); }

void PhaseAdmission::Advance(const ClusterState& state, const JobState& job) {
  const Phase phase = PhaseOf(job.progress.job);
  if (job.withheld()) {
    if (job.over_limit && places_) places_->Give(job.progress.job);  // it has not begun
    if (phase != Phase::kWaiting) EnterWaiting(state, job);
  } else if (MapsDone(job) && (phase == Phase::kMap || (phase == Phase::kWaiting && TakePlace(job)))) {
    Enter(job, Phase::kReady, {!ReducesBegan(job), JohnsonKey(PhaseProfile()), turns_++, job.key});
  }
}

bool PhaseAdmission::TakePlace(const JobState& job) {
  if (!places_) return true;
  if (!places_->MayTake(job)) return false;
  places_->Take(job);
  return true;
}

void PhaseAdmission::AdmitWaiting(const ClusterState& state) {
  const auto& waiting = Line(Phase::kWaiting);
  // Behind those that M has no room for, pools may have some.
  for (auto at = waiting.begin(); at != waiting.end() && (places_ || HasRoom(Phase::kMap));) {
    const LinePlace place = *at++;
    const JobState& job = *state.FindJob(place.key.job);
    if (job.withheld() || !TakePlace(job)) continue;
    Advance(state, job);
    if (PhaseOf(place.key.job) != Phase::kWaiting || !HasRoom(Phase::kMap)) continue;
    Enter(job, Phase::kMap, {false, JohnsonKey(PhaseProfile()), turns_++, place.key});
  }
}

void PhaseAdmission::AdmitReady(const ClusterState& state) {
  const auto& ready = Line(Phase::kReady);
  for (auto at = ready.begin(); at != ready.end() && HasRoom(Phase::kReduce);) {
    const LinePlace place = *at++;
    const JobState& job = *state.FindJob(place.key.job);
    if (job.withheld() || !MapsDone(job)) continue;
    Enter(job, Phase::kReduce, {false, JohnsonKey(PhaseProfile()), turns_++, place.key});
  }
}

const std::vector<JobId>& PhaseAdmission::ApplyChanges(const ClusterState& state) {
  reported_.clear();
  if (changed_.empty() && !waiting_changed_) return reported_;
  // Jobs that have begun go on: they take their places before others do.
  for (const JobId id : changed_) {
    if (places_ && PhaseOf(id) != Phase::kNone && state.FindJob(id)->started) places_->Take(*state.FindJob(id));
  }
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const Phase before = PhaseOf(changed_[i]);
    if (before == Phase::kNone) continue;
    Advance(state, *state.FindJob(changed_[i]));
    // A job that has left M, or R, gives others its room there.
    waiting_changed_ |= PhaseOf(changed_[i]) == Phase::kWaiting || PhaseOf(changed_[i]) != before;
  }
  if (std::exchange(waiting_changed_, false)) AdmitWaiting(state);
  AdmitReady(state);
  for (const JobId job : changed_) {
    if (JobPhase* const known = jobs_.Find(job)) known->changed = false;
    if (PhaseOf(job) != Phase::kNone) reported_.push_back(job);
  }
  changed_.clear();
  return reported_;
}

bool PhaseAdmission::InRepair(const ClusterState& state, JobId job) const {
  const Phase phase = PhaseOf(job);
  return (phase == Phase::kReady || phase == Phase::kReduce) && !MapsDone(*state.FindJob(job));
}

bool PhaseAdmission::MayRun(const ClusterState& state, TaskKind kind, JobId job) const {
  if (kind == TaskKind::kMap) return PhaseOf(job) == Phase::kMap || InRepair(state, job);
  return PhaseOf(job) == Phase::kReduce && MapsDone(*state.FindJob(job));
}

std::optional<JobId> PhaseAdmission::NextToEnter() const {
  const auto& line = Line(Phase::kWaiting);
  return line.empty() ? std::nullopt : std::optional(line.begin()->key.job);
}

std::vector<JobId> PhaseAdmission::JobsIn(Phase phase) const {
  std::vector<JobId> jobs;
  for (const LinePlace& place : Line(phase)) jobs.push_back(place.key.job);
  return jobs;
}

std::vector<JobId> PhaseAdmission::InOrder() const {
  std::vector<JobId> jobs;
  for (const Phase phase : {Phase::kReduce, Phase::kReady, Phase::kMap, Phase::kWaiting}) {
    for (const JobId job : JobsIn(phase)) jobs.push_back(job);
  }
  return jobs;
}

Fact KFact(std::uint32_t k) { return k == 0 ? Fact::Words("fresh.k", "no limit") : Fact::Number("fresh.k", k); }

std::vector<WaitView> PhaseAdmission::Waits(const ClusterState& state) const {
  std::vector<WaitView> waits;
  jobs_.ForEach([&](JobId job, const JobPhase& of_job) {
    if (of_job.phase == Phase::kNone) return;
    const JobState& known = *state.FindJob(job);
    for (const TaskKind kind : kTaskKinds) {
      if (!known.runnable[kind] || MayRun(state, kind, job)) continue;
      if (kind == TaskKind::kReduce && !MapsDone(known)) {
        waits.emplace_back(job, kind, WaitCause::kMapsFirst, known.progress.maps_done, known.progress.maps);
        continue;
      }
      if (places_ && PhaseOf(job) == Phase::kWaiting && !places_->MayTake(known)) {
        waits.push_back(places_->WhyNot(known, kind));
        continue;
      }
      const Phase phase = kind == TaskKind::kMap ? Phase::kMap : Phase::kReduce;
      waits.emplace_back(job, kind, WaitCause::kPhaseFull, static_cast<std::uint32_t>(Count(phase)), settings_.k);
    }
  });
  return waits;
}

}  // namespace millrace::sched
