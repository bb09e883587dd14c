// SPDX-License-Identifier: Apache-2.0
// edf: the earliest deadline first (docs/schedulers/policies.md#edf; the EDF-Scheduler of Lim et al. 2015,
// section 4.2).
//
// The rule, as code, for a free slot on a node (greedy.h chooses among several free nodes):
//
//   admitted = edf.exclusive ? AdmittedJobs() : all jobs
//   for job in admitted, by deadline (those without one last), then submit order:          // priorities do not count
//     if the job has a task that may run on the node: launch the closest, and return
//
//   AdmittedJobs():                      // one job at a time, nearly: our reading of the EDF that the paper measured
//     for job in all jobs, by deadline, then submit order:
//       admit the job, unless one that was admitted before it is not yet half done
//   half done: all maps and half of the reduces' work are done; work is measured by the reduces' reports or by their
//   run time against the estimate, whichever is more. An admitted job stays admitted. A job that has begun under
//   another policy is admitted, since its reduces may hold the slots that others wait for.
//
// As in `fifo`, later jobs use the slots that earlier jobs leave free.
//
// Thread rule: one thread. O(log jobs) for a change and for an assignment.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "schedulers/offering/job_order.h"

namespace millrace::sched {

class KeyList;

// EdfSettings: the settings of `edf`.
struct EdfSettings {
  bool exclusive = false;

  static constexpr std::string_view kSection = "edf";
  static constexpr std::string_view kOneLine = "The scheduler edf.";
};

void Declare(KeyList& keys, EdfSettings& settings);

class EdfOrder : public JobOrder {
 public:
  explicit EdfOrder(const EdfSettings& settings) : exclusive_(settings.exclusive) {}

  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState&) const override {
    return std::make_unique<EdfOrder>(*this);
  }
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, SlotKind kind, JobId job) const override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  using Key = std::tuple<Micros, std::uint64_t, JobId>;  // deadline, submit order
  // Returns true if some job could take a free slot if it were admitted.
  [[nodiscard]] bool Wanted(const ClusterState& state) const;

  const bool exclusive_;
  struct OrderedJob {
    Key key;
    PerSlot<bool> listed;  // in runnable_
  };
  [[nodiscard]] const Key& KeyOf(JobId job) const { return jobs_.at(job.value).key; }

  std::unordered_map<std::uint32_t, OrderedJob> jobs_;  // live jobs, by id; looked up, not walked
  PerSlot<std::set<Key>> runnable_;
  // With edf.exclusive: the live jobs, by whether they may run.
  std::set<Key> waiting_, admitted_;
  bool let_in_ = false;  // since the last round began, a job that had begun was admitted
  Micros round_ = 0;     // the time at which the last round began
};

}  // namespace millrace::sched
