// Recorder: what a simulation reports of itself, collected as it goes. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedulers/core/cluster_state.h"
#include "schedulers/core/effects.h"
#include "schedulers/parts/settings.h"
#include "schedulers/sim/metrics.h"
#include "schedulers/sim/workload.h"

namespace millrace::sim {

class Recorder {
 public:
  static constexpr std::uint32_t kNoRow = 0xffffffff;

  // `alone` as SimOptions has it.
  Recorder(const Workload& workload, const std::vector<Time>& alone, const sched::Settings& settings,
           std::uint32_t nodes, bool task_rows);

  void OnSubmit(std::uint32_t job, Time now);
  void OnJobEnded(std::uint32_t job, sched::JobOutcome outcome, Time now);
  // Gives the row of the attempt for the calls below.
  std::uint32_t OnLaunch(const sched::AttemptId& attempt, sched::NodeId node, sched::Locality locality,
                         bool speculative, Time now);
  void OnRead(std::uint32_t row, Time now);
  void OnCompute(std::uint32_t row, Time now);
  void OnEnd(std::uint32_t row, const sched::AttemptId& attempt, Time started, AttemptEnd how, Time now);
  // A map has read its split from this far; a reduce has copied.
  void OnInput(std::uint32_t job, sched::Locality from, double bytes);
  void OnCopied(std::uint32_t job, double bytes, double rack_bytes, double datacenter_bytes);
  // Map outputs kept, all nodes together.
  void OnSpace(std::uint64_t kept);
  // To be called before the capacity changes, and at the end.
  void OnCapacity(const sched::ClusterState& state, Time now);
  void OnSample(const sched::ClusterState& state, Time now);
  void CountEvent() { ++result_.summary.events; }

  // The result; attempts that run still are in it as such.
  SimResult Finish(const sched::ClusterState& state, Time now);

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
  double busy_[2] = {};                     // us, of attempts that ended
  double offered_[2] = {}, offered_total_ = 0;
  std::uint64_t running_since_[2] = {};  // sum over the attempts that run
  std::uint32_t running_[2] = {};
  Time capacity_at_ = 0;
};

}  // namespace millrace::sim
