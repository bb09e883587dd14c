// SPDX-License-Identifier: Apache-2.0
// Simulator: one run, private to lab/model (callers use simulate.h). It drives an Engine as the master does: the
// events of one moment are applied one by one, then Decide is called once, and effects are carried out as workers
// would. The class handles the arrival and end of jobs, nodes and attempts. map_model.h and reduce_model.h handle the
// work of maps and reduces in between, on the state of run_state.h. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "lab/model/map_model.h"
#include "lab/model/reduce_model.h"
#include "lab/model/run_state.h"
#include "lab/model/simulate.h"
#include "lab/workload/block_placer.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/history/job_history.h"
#include "schedulers/policies/external/conduct.h"

namespace millrace::sim {

// Starts the program. Fails if it cannot be started, if there is no SimOptions::launch, or if it is of another kind.
[[nodiscard]] Result<std::unique_ptr<outside::Adviser>> StartAdviser(const sched::OutsideTerms& terms,
                                                                     const SimOptions& options);

class Simulator final : private ModelHost {
 public:
  // Requires: the arguments outlive the simulator and were checked.
  Simulator(const ClusterSpec& cluster, const Workload& workload, std::unique_ptr<sched::Policy> policy,
            const sched::Settings& settings, const SimOptions& options, std::unique_ptr<outside::Adviser> adviser);

  SimResult Run();

 private:
  // ---- the loop ----
  void Start();
  void Step();
  // Returns true if nothing is under way, and nothing will come except happenings without effect (EventQueue::idle) and
  // wakes that the policy has requested.
  [[nodiscard]] bool Idle() const;
  // Returns true if the run is idle and any wakes of the policy have had no effect so often that they never will have
  // one. A policy that renews a clock requests wakes for ever.
  [[nodiscard]] bool Stuck() const;
  [[nodiscard]] std::vector<StuckJob> StuckJobs() const;
  void Handle(const TimedHappening& entry);
  // Decides, asks the policy's program what it wants to know, and decides again, until there is no open question whose
  // answer takes no time.
  void Decide();
  void DecideOnce();
  void ConsultProgram();
  // Keeps the counts of the program that is asked, which end with its policy.
  void NoteConduct();
  // Has the fallback decide from now on.
  void Relieve(const std::string& why);
  void ForgetProgram();
  bool Apply(const sched::Event& event) override;
  void Journal(const sched::Event& event);
  void Drain();
  void Carry(const sched::Effect& effect);

  // ---- jobs and nodes that come and go ----
  void Submit(std::uint32_t job);
  [[nodiscard]] sched::JobSpec SpecOf(std::uint32_t job);
  void EndJob(const sched::JobEnded& ended);
  void JoinNode(std::uint32_t node);
  void LoseNode(std::uint32_t node);
  void Sample();

  // ---- attempts ----
  void Launch(const sched::Launch& launch);
  SlotId NewSlot(const sched::Launch& launch);
  // Makes the attempt start to read or copy. Called when its latency is over.
  void Begin(SlotId slot);
  // Gives the attempt a process of its job on its node; a new process must start first.
  void TakeProcess(Attempt& attempt);
  // Takes the attempt out of all lists; events that it waits for become void.
  void Remove(SlotId slot, AttemptEnd how);
  void Stop(const AttemptId& attempt, AttemptEnd how);
  void OnFlowEnded(SlotId slot);
  void OnTimer(SlotId slot);
  void OnCores(const TimedHappening& entry);
  void Compute(SlotId slot) override;
  void Computed(SlotId slot) override;
  void Fail(SlotId slot, const char* why);
  [[nodiscard]] SlotId FindSlot(const AttemptId& attempt);
  void ScheduleProgress(SlotId slot);
  void TellProgress(SlotId slot);
  [[nodiscard]] double ProgressOf(SlotId slot) const;

  const Workload& workload_;
  const sched::Settings& settings_;
  RunState state_;
  MapModel maps_;
  ReduceModel reduces_;
  BlockPlacer placer_;
  sched::JobHistory history_;

  bool changed_ = false;  // an event was applied since the last Decide
  bool samples_ = false;  // the next sample is in the queue
  std::optional<Micros> wake_;
  std::uint64_t idle_wakes_ = 0, idle_steps_ = 0;      // in a row, without effect, while the run was idle
  std::uint32_t jobs_left_ = 0;                        // jobs that have not ended
  std::vector<std::vector<std::uint32_t>> followers_;  // by job: the jobs that wait for its end
  std::vector<SlotId> unused_slots_;
  sched::Effects effects_;
  bool draining_ = false;
  std::vector<JobId> arrived_;  // since the last Decide
  std::vector<JobId> ended_;    // to be forgotten when Decide is over
  std::vector<std::uint64_t> flows_ended_;
  std::vector<SlotId> works_ended_;
  double decision_seconds_ = 0;
  std::unique_ptr<outside::Adviser> adviser_;  // null until the policy has a question
  sched::Conduct conduct_;
  // An answer whose thinking takes time, and the number of its happening: an answer to a scheduler of before is void.
  std::optional<sched::PolicyAnswered> on_its_way_;
  std::uint32_t answers_ = 0;
  sched::Settings in_force_;  // of the scheduler that decides
  std::optional<Relief> relief_;
  std::optional<ProgramConduct> program_;
};

}  // namespace millrace::sim
