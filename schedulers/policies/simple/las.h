// SPDX-License-Identifier: Apache-2.0
// las: least attained service (Nuyens and Wierman, "The Foreground-Background queue: a survey", 2008; in doubling
// levels as in Gu et al., "Tiresias", NSDI 2019, and Chowdhury and Stoica, "Efficient coflow scheduling without prior
// knowledge", SIGCOMM 2015; docs/schedulers/newer.md#las). It knows nothing of sizes: small jobs go first because they
// are done before they have attained much.
//
// The rule, as code, for a free slot of either kind on a node at time `now`:
//
//   attained(job) = run times of all attempts of the job so far, of maps and reduces, ended and running, until `now`
//   level(job)    = 0 while attained < las.quantum, 1 while it is < 2 quanta, 2 while < 4, 3 while < 8, ...
//   for job in the jobs, by level, then submit order:
//     if the job has a task that may run on the node: launch the closest, and return
//   with las.quantum = 0, for job in the jobs, by attained, then running tasks, then id: the same
//
// Priorities do not count. A job that was submitted just now has attained nothing, so none that is past its first
// quantum goes before it. Inside a level the first job keeps its turn, so that equal jobs end one after another. With
// quantum 0 they would share the slots to their end, since each task that is launched makes its job less urgent than
// the others.
//
// The attained times change as time passes, so no order is kept, and the class has no state. Thread rule: one thread.
// O(runnable jobs) for an offer.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "schedulers/offering/job_order.h"

namespace millrace::sched {

class KeyList;

// LasSettings: the settings of `las`.
struct LasSettings {
  Micros quantum = 60 * kSecond;  // of slot time

  static constexpr std::string_view kSection = "las";
  static constexpr std::string_view kOneLine = "The scheduler las.";
};

void Declare(KeyList& keys, LasSettings& settings);

class LasOrder : public JobOrder {
 public:
  explicit LasOrder(const LasSettings& settings) : quantum_(settings.quantum) {}

  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState&) const override {
    return std::make_unique<LasOrder>(*this);
  }
  PerSlot<bool> BeginRound(const ClusterState&, Micros) override { return {}; }
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;

 private:
  const Micros quantum_;
};

}  // namespace millrace::sched
