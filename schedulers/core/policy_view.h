// SPDX-License-Identifier: Apache-2.0
// PolicyView: the picture of a policy for `millrace scheduler show`: its pools or queues, the values in force, and the
// reason why each job that could use another slot waits.
//
// A policy gives the reasons of the runnable jobs that it could give a slot to or holds back. Engine::View adds the
// reasons of the other jobs (those that may not run yet, are paused or were evicted), the reasons of reduces that wait
// for permits, and the shares of groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/wait_view.h"

namespace millrace::sched {

// A value in force: a number with its unit ("s", "bytes"; empty: a count), or words.
struct Fact {
  std::string name;
  std::optional<double> number;
  std::string text;  // the unit of the number, or the words

  static Fact Number(std::string name, double number, std::string unit = "") {
    return {std::move(name), number, std::move(unit)};
  }
  static Fact Seconds(std::string name, Micros time) { return Number(std::move(name), time / 1e6, "s"); }
  static Fact Words(std::string name, std::string words) { return {std::move(name), std::nullopt, std::move(words)}; }
  bool operator==(const Fact&) const = default;
};

// Returns the number with its unit, or the words.
[[nodiscard]] std::string InWords(const Fact& fact);

// The slots of one kind of a pool, queue or group.
struct GroupSlots {
  std::uint32_t running = 0;
  std::uint32_t demand = 0;  // running and runnable tasks
  double share = 0;          // the slots that the policy would give it now
  std::uint32_t minimum = 0;
  std::optional<std::uint32_t> maximum;
  // The time at which preemption takes slots back for the group if nothing changes before; nothing if the group lacks
  // no slots.
  std::optional<Micros> preempts_at;
};

struct GroupView {
  std::string name;
  double weight = 1;
  std::vector<JobId> jobs;  // live jobs, by id
  PerKind<GroupSlots> slots;
};

// A job with a deadline.
struct DeadlineView {
  JobId job;
  Micros deadline = 0;
  // The time for which the job could wait and still meet the deadline, if it then had all slots to itself; below 0: it
  // will be late.
  Micros slack = 0;
};

struct PolicyView {
  std::vector<Fact> facts;              // about the whole policy
  std::string group_noun = "pool";      // the word for a group: "pool", "queue"
  std::vector<GroupView> groups;        // sorted by name; empty for a policy without groups
  std::vector<WaitView> waits;          // sorted by job, then kind of slot
  std::vector<DeadlineView> deadlines;  // of a policy that decides by them; the earliest first
};

}  // namespace millrace::sched
