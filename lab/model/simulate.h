// SPDX-License-Identifier: Apache-2.0
// Simulate: runs one workload on one cluster under one scheduler. It uses the same Engine and policies as the live
// master, with discrete events in place of workers.
//
//   const ClusterSpec cluster = MakeCluster(100, 4, 1, {4, 2});
//   Workload workload;
//   workload.jobs.push_back(...);
//   MILLRACE_ASSIGN(SimResult result, Simulate(cluster, workload, "fair+delay", Settings{}, {}));
//
// The model of tasks: a map that is not node-local reads its split from the closest replica (the flow shares links with
// all others), then computes. A reduce copies its share of each map's output as maps end, waits for a compute permit of
// its node if more reduces run there than may compute (the engine grants it, in the policy's order), and computes.
//
// Simulate is pure, except for the clock of `decision_seconds`: the same arguments give the same result, byte for byte,
// on one machine type. Thread rule: any thread; simulations share nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "lab/measure/metrics.h"
#include "lab/workload/cluster_spec.h"
#include "lab/workload/workload.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/outside/program.h"
#include "schedulers/settings/settings.h"

namespace millrace::sim {

// Follows a run. Thread rule: that of the run.
class SimWatch {
 public:
  // Decide has been called at `now`. `arrived` are the jobs that were submitted since the last call.
  virtual void Decided(Micros now, const sched::Engine& engine, const std::vector<JobId>& arrived) = 0;
  virtual void Launched(Micros now, JobId job) = 0;
  // The job has ended, and is known to the engine for the last time.
  virtual void Ended(const sched::JobState& job) = 0;
  virtual void SchedulerChanged() = 0;

 protected:
  ~SimWatch() = default;
};

// From this time on, another scheduler decides.
struct SchedulerChange {
  Micros at = 0;
  sched::SchedulerSet to;
};

struct SimOptions {
  std::uint64_t seed = 1;  // of block placement, slow and failing attempts
  Micros stop_at = 0;      // end of the simulation; 0: when every job has ended
  Micros sample_interval = 10 * kSecond;
  std::vector<Micros> alone = {};  // turnaround of each job alone (AloneTimes), for slowdowns; empty: unknown
  bool task_rows = false;          // keep SimResult::tasks
  bool keep_history = true;        // later jobs use the profiles of jobs that ended
  // With n > 0, every n-th remote read of a map that ends is reported to the engine as BandwidthMeasured; with 0, none
  // is.
  std::uint32_t bandwidth_sample = 8;
  // With at most this many flows at once, rates are exact at every moment; with more, they are computed again at most
  // every quantum_per_flow x flows (network.h).
  std::uint32_t exact_flows = 64;
  Micros quantum_per_flow = 2'000;
  // Options of the engine; make_policy serves `changes` alone.
  sched::EngineOptions engine = {};
  // Called with every line of the journal (schedulers/events/event_text.h): the events as the live master writes
  // them, and a mark wherever Decide was called.
  std::function<void(std::string_view line)> journal = {};
  std::vector<SchedulerChange> changes = {};  // in any order
  // Starts the programs that policies ask (OutsideTerms). Without it such policies are refused.
  outside::Launch launch = {};
  // How long a program thinks, in the time of the simulation; nothing: as long as it really takes.
  std::optional<Micros> thinking = Micros{0};
  SimWatch* watch = nullptr;  // it outlives the run
};

// Returns kInvalid if there is no such scheduler, it asks a program that cannot be started, the cluster has no nodes, a
// job names a node or job that does not exist, or a job exceeds the limits of the engine. A run in which no job can
// continue ends and reports the stuck jobs (SimResult::stuck).
[[nodiscard]] Result<SimResult> Simulate(const ClusterSpec& cluster, const Workload& workload,
                                         const std::string& scheduler, const sched::Settings& settings,
                                         const SimOptions& options);

// Simulates with the given policy, for experiments with a policy that has no name.
[[nodiscard]] Result<SimResult> Simulate(const ClusterSpec& cluster, const Workload& workload,
                                         std::unique_ptr<sched::Policy> policy, const sched::Settings& settings,
                                         const SimOptions& options);

// Returns the turnaround of each job when it has the cluster to itself, under fifo, without failures and slow attempts.
// Equal jobs (the same numbers, whatever their names) are simulated once.
[[nodiscard]] Result<std::vector<Micros>> AloneTimes(const ClusterSpec& cluster, const Workload& workload,
                                                     const SimOptions& options);

}  // namespace millrace::sim
