// SPDX-License-Identifier: Apache-2.0
// Recorder: collects the report of a simulation as it runs. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lab/measure/metrics.h"
#include "lab/workload/workload.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/effects.h"
#include "schedulers/settings/settings.h"

namespace millrace::sim {

class Recorder {
 public:
  static constexpr std::uint32_t kNoRow = 0xffffffff;

  // `alone`: as in SimOptions.
  Recorder(const Workload& workload, const std::vector<Micros>& alone, const sched::Settings& settings,
           std::uint32_t nodes, bool task_rows);

  void OnSubmit(std::uint32_t job, Micros now);
  // Records that the job was evicted for lack of room for map outputs.
  void OnEvicted(std::uint32_t job) { ++result_.jobs[job].evicted; }
  void OnGivenUp(std::uint32_t job, const std::string& why) { result_.given_up.push_back({job, why}); }
  void OnJobEnded(std::uint32_t job, sched::JobOutcome outcome, Micros now);
  // Returns the row of the attempt, for the calls below.
  std::uint32_t OnLaunch(const AttemptId& attempt, NodeId node, Locality locality, bool speculative, Micros now);
  void OnRead(std::uint32_t row, Micros now);
  void OnCompute(std::uint32_t row, Micros now);
  // Records that a reduce begins to compute.
  void OnReduceComputing(Micros now);
  void OnUse(std::uint32_t row, const sched::ProcessorUse& use);
  // `computing` is the time since which a reduce computes; nothing if it does not, or for a map.
  void OnEnd(std::uint32_t row, const AttemptId& attempt, Micros started, std::optional<Micros> computing,
             AttemptEnd how, Micros now);
  // OnInput records that a map has read its split from this distance. OnCopied records that a reduce has copied these
  // bytes.
  void OnInput(std::uint32_t job, Locality from, double bytes);
  void OnCopied(std::uint32_t job, double bytes, double rack_bytes, double datacenter_bytes);
  // Records the bytes of map outputs kept, all nodes together.
  void OnSpace(std::uint64_t kept);
  // Called before the capacity changes, and at the end. Slots offered before the first job comes do not count.
  void OnCapacity(const sched::ClusterState& state, Micros now);
  void OnSample(const sched::ClusterState& state, Micros now);
  void CountEvent() { ++result_.summary.events; }

  // Returns the result; attempts that still run are marked as such in it.
  SimResult Finish(const sched::ClusterState& state, Micros now);

 private:
  struct Bytes {
    double at[4] = {};
    double shuffle = 0, rack = 0, datacenter = 0;
  };
  double DistanceNow(const sched::ClusterState& state) const;
  void RoundBytes();

  const Workload& workload_;
  const sched::Settings& settings_;
  bool task_rows_;
  SimResult result_;
  std::vector<Bytes> bytes_;                // by job
  std::vector<std::uint32_t> launched_on_;  // by node

  // The total time for which a set of attempts have held slots.
  class SlotTime {
   public:
    void Begin(Micros now) { ++running_, since_ += static_cast<std::uint64_t>(now); }
    void End(Micros began, Micros now) {
      --running_, since_ -= static_cast<std::uint64_t>(began);
      ended_ += static_cast<double>(now - began);
    }
    // Returns the time used until now, in us.
    [[nodiscard]] double Used(Micros now) const {
      return ended_ + static_cast<double>(running_) * static_cast<double>(now) - static_cast<double>(since_);
    }

   private:
    double ended_ = 0;
    std::uint32_t running_ = 0;
    std::uint64_t since_ = 0;  // sum over the attempts that run
  };
  PerKind<SlotTime> busy_;
  SlotTime computing_;       // of reduces
  PerKind<double> offered_;  // slot time, in us
  double offered_total_ = 0;
  bool splits_ = false;   // reduces beyond the slots copy (`+ccs`), so that those that compute hold the slots
  bool any_job_ = false;  // a job has been submitted
  Micros capacity_at_ = 0;
};

}  // namespace millrace::sim
