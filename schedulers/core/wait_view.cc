// SPDX-License-Identifier: Apache-2.0
#include "schedulers/core/wait_view.h"

#include <cstdio>
#include <utility>

#include "base/ids/counted.h"
#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/events/check.h"

namespace millrace::sched {
namespace {

std::string_view NameOf(SlotKind slot) {
  if (slot.map()) return "map slot";
  return slot == kComputePermit ? "compute permit" : "reduce slot";
}

std::string_view KindOf(SlotKind slot) { return slot.map() ? "map" : "reduce"; }

// "job3 ads HIGH"; a normal priority is not said.
std::string NameOf(JobId id, const ClusterState& state) {
  std::string text = ToText(id);
  const JobState* job = state.FindJob(id);
  if (job == nullptr) return text;
  if (!job->spec.name.empty()) text += ' ' + job->spec.name;
  if (job->progress.priority != Priority::kNormal) {
    text += ' ' + std::string(kPriorityNames[static_cast<std::size_t>(job->progress.priority)]);
  }
  return text;
}

// " (job3 ads HIGH, job1 logs, and 4 more)"
std::string Named(const WaitView& wait, const ClusterState& state) {
  std::string text;
  for (const JobId job : wait.others) text += (text.empty() ? " (" : ", ") + NameOf(job, state);
  if (text.empty()) return text;
  const std::uint32_t more = wait.other_count.value_or(0) - static_cast<std::uint32_t>(wait.others.size());
  if (more > 0) text += ", and " + std::to_string(more) + " more";
  return text + ')';
}

// Rounds a time that people watch down to tenths of a second.
std::string InTenths(Micros time) {
  constexpr Micros kTenth = 100 * kMillisecond;
  return FormatDuration(std::max(time, Micros{0}) / kTenth * kTenth);
}

std::string_view PlaceOf(Locality locality) {
  switch (locality) {
    case Locality::kNode:
      return "at its data";
    case Locality::kRack:
      return "in a rack with its data";
    case Locality::kDatacenter:
      return "in a datacenter with its data";
    case Locality::kOff:
      break;
  }
  return "anywhere";
}

// Returns a sentence that says that all slots are busy, with their number.
std::string AllBusy(const WaitView& wait, const ClusterState& state) {
  const bool one = wait.of == 1;
  const bool untyped = state.Capacity(kMapSlot) + state.Capacity(kReduceSlot) > state.TotalCapacity();
  std::string noun(untyped ? "slot" : NameOf(wait.slot));
  if (!one) noun += 's';
  const std::string of_nodes = wait.slot == kComputePermit ? " of its nodes" : "";
  return one ? "the only " + noun + of_nodes + " is busy"
             : "all " + std::to_string(wait.of) + ' ' + noun + of_nodes + " are busy";
}

// " if that is one of pool ads"; nothing if the sources are too many to name.
template <class Source, class Name>
std::string IfOf(std::string_view condition, std::string_view noun, const std::vector<Source>& sources,
                 const Name& name) {
  if (sources.empty() || sources.size() > WaitView::kMostNamed) return {};
  std::string text = ' ' + std::string(condition) + " that is one of";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    text += i == 0 ? " " : i + 1 == sources.size() ? " or " : ", ";
    text += std::string(noun) + name(sources[i]);
  }
  return text;
}

// Says when the job gets the next to become free. Requires: for some of the tasks that were tried it does, and not for
// all.
std::string GetsItIf(const NextFreed& next, const ClusterState& state, std::string_view group_noun) {
  const std::string text = "it gets the next to become free";
  const std::string pool = std::string(group_noun) + ' ';
  const auto group_name = [](const std::string& name) { return name; };
  const auto job_name = [&state](JobId job) { return NameOf(job, state); };
  const bool few_not = next.not_of_groups.size() < next.of_groups.size();
  const bool few_not_jobs = next.not_of_jobs.size() < next.of_jobs.size();
  for (const bool unless : {few_not, !few_not}) {
    const std::string groups =
        unless ? IfOf("unless", pool, next.not_of_groups, group_name) : IfOf("if", pool, next.of_groups, group_name);
    if (!groups.empty()) return text + groups;
  }
  for (const bool unless : {few_not_jobs, !few_not_jobs}) {
    const std::string jobs =
        unless ? IfOf("unless", "", next.not_of_jobs, job_name) : IfOf("if", "", next.of_jobs, job_name);
    if (!jobs.empty()) return text + jobs;
  }
  return text + " if that is one of " + std::to_string(next.to_it) + " of the " + std::to_string(next.running);
}

// Names the jobs before this one, and says whether it gets the next to become free.
std::string WhoIsNext(const WaitView& wait, const ClusterState& state, std::string_view group_noun) {
  const bool first = *wait.other_count == 0;
  std::string text = first ? "it is first in order now"
                           : Counted(*wait.other_count, "job is", "jobs are") + " ahead" + Named(wait, state);
  if (!wait.next) return text;
  const NextFreed& next = *wait.next;
  if (!next.all_tried()) {
    if (!first && next.to_it == 0) return text;
    return text + "; of the " + std::to_string(next.running) + ", " + std::to_string(next.tried) +
           " were tried, and it would get " + (next.to_it == next.tried ? "each" : std::to_string(next.to_it));
  }
  if (next.to_it == next.tried) {
    return first ? "the next to become free is offered to it first"
                 : text + "; it gets the next to become free all the same";
  }
  if (next.to_it > 0) return text + "; " + GetsItIf(next, state, group_noun);
  if (!first) return text;
  if (next.takers.empty()) return text + ", and none of those that become free suits it";
  WaitView takers;
  takers.others = next.takers;
  takers.other_count = next.taker_count;
  if (next.taker_count == 1)
    return text + ", but the next to become free goes to " + NameOf(next.takers.front(), state);
  return text + ", but the next to become free goes to one of " + std::to_string(next.taker_count) + " jobs" +
         Named(takers, state);
}

// Names the job that gets the next permit to become free, if that need not be this one. Requires: all tasks were tried.
std::string PermitInWords(const NextFreed& next, const ClusterState& state, std::string_view group_noun) {
  if (next.to_it == next.tried) return {};
  if (next.to_it > 0) return "; " + GetsItIf(next, state, group_noun);
  return next.taker_count == 1 ? "; the next to become free goes to " + NameOf(next.takers.front(), state) : "";
}

std::string BusyInWords(const WaitView& wait, const ClusterState& state, Micros now, std::string_view group_noun) {
  std::string text = AllBusy(wait, state);
  if (wait.slot == kComputePermit) {
    text = "it has copied its input; " + text;
    if (!wait.others.empty()) text += Named(wait, state);
    if (wait.next && wait.next->all_tried()) text += PermitInWords(*wait.next, state, group_noun);
  } else if (!wait.other_count) {
    if (!wait.rule.empty()) text += "; the next to become free goes " + wait.rule;
  } else {
    text += "; " + WhoIsNext(wait, state, group_noun);
  }
  if (wait.only && wait.until) {
    text += "; for " + InTenths(*wait.until - now) + " it takes one " + std::string(PlaceOf(*wait.only)) + " only";
  }
  if (!wait.group_share) return text;
  text += "; " + std::string(group_noun) + ' ' + wait.group;
  if (*wait.group_share <= 0) return text + " has no share of them";
  return text + " has " + std::to_string(wait.group_used) + " of its share of " + SlotsInWords(*wait.group_share);
}

// A job counts from the moment that it may run; it is "running" for the user only once a task of it has started.
std::string UserJobsInWords(const WaitView& wait, const ClusterState& state) {
  const std::string& user = state.FindJob(wait.job)->spec.user;
  if (wait.of == 0) return "pool " + wait.group + " lets user " + user + " run no jobs";
  const std::string jobs = wait.begun == wait.used
                               ? Counted(wait.used, "running job")
                               : Counted(wait.used, "job that runs", "jobs that run") + " or will run next";
  const std::string text = "user " + user + " has " + jobs;
  if (wait.used > wait.of) return text + ", and pool " + wait.group + " lets one user have " + std::to_string(wait.of);
  return text + ", the most that pool " + wait.group + " lets one user have";
}

}  // namespace

WaitView WaitView::Behind(const WaitView& ahead) && {
  if (cause == WaitCause::kSlotsBusy) {
    others = ahead.others;
    other_count = ahead.other_count;
  }
  return std::move(*this);
}

WaitView NoFreeSlot(const ClusterState& state, TaskKind kind, JobId job) {
  const std::uint32_t slots = state.Capacity(kind);
  if (slots == 0) return {job, kind, WaitCause::kNoSlots};
  if (!state.AnyCrowded(kind)) return {job, kind, WaitCause::kSlotsBusy, 0, slots};
  return {job, kind, WaitCause::kCrowded, state.SlotsInUse(kind), slots};
}

std::string SlotsInWords(double slots) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", slots);
  std::string out = text;
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

std::string InWords(const Fact& fact) {
  if (!fact.number) return fact.text;
  char number[32];
  std::snprintf(number, sizeof number, "%.6g", *fact.number);
  return number + (fact.text.empty() ? "" : ' ' + fact.text);
}

std::string_view ToText(WaitCause cause) {
  switch (cause) {
    case WaitCause::kUndecided:
      return "undecided";
    case WaitCause::kNoSlots:
      return "no-slots";
    case WaitCause::kSlotsBusy:
      return "slots-busy";
    case WaitCause::kCrowded:
      return "crowded";
    case WaitCause::kOffNodes:
      return "off-nodes";
    case WaitCause::kNoRoom:
      return "no-room";
    case WaitCause::kFarFromData:
      return "far-from-data";
    case WaitCause::kCopyLimit:
      return "copy-limit";
    case WaitCause::kGathering:
      return "gathering";
    case WaitCause::kGroupFull:
      return "group-full";
    case WaitCause::kGroupJobs:
      return "group-jobs";
    case WaitCause::kUserJobs:
      return "user-jobs";
    case WaitCause::kRunsAlone:
      return "runs-alone";
    case WaitCause::kPhaseFull:
      return "phase-full";
    case WaitCause::kMapsFirst:
      return "maps-first";
    case WaitCause::kElsewhere:
      return "elsewhere";
    case WaitCause::kPaused:
      return "paused";
    case WaitCause::kGaveWay:
      return "gave-way";
    case WaitCause::kOnHold:
      return "on-hold";
  }
  return "unknown";
}

std::string InWords(const WaitView& wait, const ClusterState& state, Micros now, std::string_view group_noun) {
  const std::string slot(NameOf(wait.slot));
  const std::string group = std::string(group_noun) + ' ' + wait.group;
  const std::string free_nodes = Counted(wait.of, "node") + " with a free " + slot;
  switch (wait.cause) {
    case WaitCause::kUndecided:
      return "a " + slot + " is free; the next round decides about it";
    case WaitCause::kNoSlots:
      return "no node that takes tasks has a " + slot;
    case WaitCause::kSlotsBusy:
      return BusyInWords(wait, state, now, group_noun);
    case WaitCause::kCrowded:
      return std::to_string(wait.used) + " of " + Counted(wait.of, slot) + (wait.used == 1 ? " is" : " are") +
             " in use; the others come free when tasks end that run beyond a limit that was lowered";
    case WaitCause::kOffNodes:
      return "its attempts failed on the " + free_nodes + ", and others may take the task";
    case WaitCause::kNoRoom:
      return "the output that is expected of its next map does not fit on the " + free_nodes;
    case WaitCause::kFarFromData: {
      std::string text = "waits for a slot " + std::string(PlaceOf(wait.only.value_or(Locality::kNode)));
      if (wait.since && wait.until) {
        text += ", " + InTenths(now - *wait.since) + " of " + InTenths(*wait.until - *wait.since);
      }
      return text + "; the free ones are farther";
    }
    case WaitCause::kCopyLimit:
      return "on the " + free_nodes + " as many of its reduces copy as may";
    case WaitCause::kGathering:
      return "slots gather for another " + FormatDuration(std::max(wait.until.value_or(now) - now, Micros{0})) +
             ", to be assigned together";
    case WaitCause::kGroupFull:
      return group + " runs " + std::to_string(wait.used) + " of at most " + Counted(wait.of, KindOf(wait.slot));
    case WaitCause::kGroupJobs:
      return group + " runs " + std::to_string(wait.used) + " of at most " + Counted(wait.of, "job");
    case WaitCause::kUserJobs:
      return UserJobsInWords(wait, state);
    case WaitCause::kRunsAlone:
      SCHED_CHECK(!wait.others.empty(), "a job runs alone without a name");
      return NameOf(wait.others.front(), state) + " has an earlier deadline and runs alone, until half of it is done";
    case WaitCause::kPhaseFull:
      return Counted(wait.used, "job is", "jobs are") + " in the " + std::string(KindOf(wait.slot)) +
             " phase, of at most " + std::to_string(wait.of);
    case WaitCause::kMapsFirst:
      return std::to_string(wait.used) + " of its maps are done; its reduces start when " + std::to_string(wait.of) +
             (wait.of == 1 ? " is" : " are");
    case WaitCause::kElsewhere:
      return "it waits for a " + slot + " in datacenter " + wait.group + "; the free ones are elsewhere";
    case WaitCause::kPaused:
      return "task " + ToText(wait.task.value()) + " failed " +
             Counted(state.FindJob(wait.job)->Tasks(wait.task->kind)[wait.task->index].failed, "time") +
             " and is tried again in " +
             FormatDuration(std::max(wait.until.value_or(now) - now, Micros{0}) / kMillisecond * kMillisecond);
    case WaitCause::kGaveWay:
      return "it gave way for lack of room for map outputs, until another job has ended";
    case WaitCause::kOnHold:
      return "it is held until it is released";
  }
  return {};
}

}  // namespace millrace::sched
