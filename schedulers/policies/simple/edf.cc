// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/edf.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "schedulers/history/estimates.h"
#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

constexpr Micros kNoDeadline = std::numeric_limits<Micros>::max();

// Returns the moment at which half of the reduces will be done, by the run times of the running ones; it is in the past
// if they are done already. Returns nothing before all maps are done, or if the running reduces do not suffice.
std::optional<Micros> HalfDoneAt(const ClusterState& state, const JobState& job) {
  constexpr TaskKind kReduce = TaskKind::kReduce;
  const JobProgress& progress = job.progress;
  if (progress.maps_done < progress.maps) return std::nullopt;
  const double missing = 0.5 * progress.reduces - progress.reduces_done;
  const std::uint32_t running = job.running_attempts[kReduce];
  if (missing <= 0) return 0;
  if (missing > running) return std::nullopt;
  const auto estimate = static_cast<double>(MeasuredTime(state, job, TaskKind::kReduce));
  const auto since = static_cast<double>(job.times[kReduce].since_total);
  return static_cast<Micros>((since + missing * estimate) / running + 0.5);
}

// Returns true if half of the reduces are done by their own reports.
bool ReportsHalf(const JobState& job) {
  if (job.progress.maps_done < job.progress.maps) return false;
  std::uint64_t per_mille = 1000ULL * job.progress.reduces_done;
  for (const TaskState& task : job.reduces) {
    std::uint32_t best = 0;
    for (const RunningAttempt& attempt : task.running) best = std::max(best, attempt.per_mille);
    per_mille += task.done ? 0 : best;
  }
  return per_mille >= 500ULL * job.progress.reduces;
}

bool HalfDone(const ClusterState& state, const JobState& job, Micros now) {
  const auto at = HalfDoneAt(state, job);
  return (at && *at <= now) || ReportsHalf(job);
}

}  // namespace

void Declare(KeyList& keys, EdfSettings& settings) {
  auto& [exclusive] = settings;
  keys.Flag("exclusive", &exclusive,
            "the next job starts when the maps and half of the reduces of the current one are done");
}

void EdfOrder::OnJobSubmitted(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  const Key key{job.spec.deadline > 0 ? job.spec.deadline : kNoDeadline, job.key.submit_order, id};
  jobs_.emplace(id.value, OrderedJob{key, {}});
  if (exclusive_) waiting_.insert(key);
  OnJobChanged(state, id);
}

void EdfOrder::OnJobEnded(const ClusterState&, JobId job) {
  const auto at = jobs_.find(job.value);
  const Key& key = at->second.key;
  for (std::set<Key>& runnable : runnable_) runnable.erase(key);
  waiting_.erase(key);
  admitted_.erase(key);
  jobs_.erase(at);
}

void EdfOrder::OnJobChanged(const ClusterState& state, JobId id) {
  const auto at = jobs_.find(id.value);
  if (at == jobs_.end()) return;
  OrderedJob& ordered = at->second;
  const JobState& job = *state.FindJob(id);
  if (job.started && waiting_.erase(ordered.key) > 0) {
    admitted_.insert(ordered.key);
    let_in_ = true;
  }
  if (job.over_limit && admitted_.erase(ordered.key) > 0) waiting_.insert(ordered.key);
  for (const SlotKind kind : kSlotKinds) {
    if (std::exchange(ordered.listed[kind], job.runnable[kind]) == job.runnable[kind]) continue;
    if (job.runnable[kind]) {
      runnable_[kind].insert(ordered.key);
    } else {
      runnable_[kind].erase(ordered.key);
    }
  }
}

bool EdfOrder::Wanted(const ClusterState& state) const {
  return std::any_of(std::begin(kTaskKinds), std::end(kTaskKinds),
                     [&](TaskKind kind) { return !state.FreeNodes(kind).empty() && !runnable_[kind].empty(); });
}

// `edf.exclusive` lets the next jobs in as long as all that are in are half done.
PerSlot<bool> EdfOrder::BeginRound(const ClusterState& state, Micros now) {
  if (!exclusive_) return {};
  round_ = now;
  bool any = std::exchange(let_in_, false);
  if (!Wanted(state)) return {any, any, any};
  const auto half_done = [&](const Key& key) { return HalfDone(state, *state.FindJob(std::get<JobId>(key)), now); };
  const auto may_enter = [&](const Key& key) { return !state.FindJob(std::get<JobId>(key))->over_limit; };
  while (std::all_of(admitted_.begin(), admitted_.end(), half_done)) {
    const auto next = std::find_if(waiting_.begin(), waiting_.end(), may_enter);
    if (next == waiting_.end()) break;
    admitted_.insert(waiting_.extract(next));
    any = true;
  }
  return {any, any, any};
}

std::optional<JobId> EdfOrder::Offer(const ClusterState&, SlotKind kind, Micros, const Take& take) const {
  for (const Key& key : runnable_[kind]) {
    const JobId job = std::get<JobId>(key);
    if ((!exclusive_ || admitted_.contains(key)) && take(job)) return job;
  }
  return std::nullopt;
}

bool EdfOrder::Before(const ClusterState&, SlotKind, Micros, JobId a, JobId b) const { return KeyOf(a) < KeyOf(b); }

bool EdfOrder::MayRun(const ClusterState&, SlotKind, JobId job) const {
  return !exclusive_ || admitted_.contains(KeyOf(job));
}

std::optional<Micros> EdfOrder::NextWake(const ClusterState& state) const {
  if (waiting_.empty() || !Wanted(state)) return std::nullopt;
  std::optional<Micros> last;
  for (const Key& key : admitted_) {
    const JobState& job = *state.FindJob(std::get<JobId>(key));
    if (ReportsHalf(job)) continue;
    const auto at = HalfDoneAt(state, job);
    if (!at) return std::nullopt;  // not before something ends or starts
    last = std::max(last.value_or(0), *at);
  }
  // Launches of this round may make them half done: then the others are let in with the next round.
  return last ? std::optional(std::max(*last, round_ + 1)) : std::nullopt;
}

PolicyView EdfOrder::View(const ClusterState& state, Micros now) const {
  PolicyView view;
  view.facts.push_back(Fact::Words("edf.exclusive", exclusive_ ? "true" : "false"));
  view.deadlines = DeadlinesOf(state, now);
  if (!exclusive_ || admitted_.empty()) return view;
  // The others are let in when this one is half done.
  const auto alone = std::find_if(admitted_.begin(), admitted_.end(), [&](const Key& key) {
    return !HalfDone(state, *state.FindJob(std::get<JobId>(key)), now);
  });
  const Key& runs = alone == admitted_.end() ? *admitted_.rbegin() : *alone;
  for (const SlotKind kind : kSlotKinds) {
    for (const Key& key : runnable_[kind]) {
      if (admitted_.contains(key)) continue;
      WaitView& wait = view.waits.emplace_back(std::get<JobId>(key), kind, WaitCause::kRunsAlone);
      wait.AddOther(std::get<JobId>(runs));
    }
  }
  return view;
}

}  // namespace millrace::sched
