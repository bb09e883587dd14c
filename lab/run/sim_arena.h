// SPDX-License-Identifier: Apache-2.0
// SimArena makes runs in the simulator. The jobs of a run are drawn from its seed, so all schedulers have the same
// jobs; a run that is made twice gives the same result. The samples of a run, over which fairness and distance are
// means, are closer together than those of `millrace sim` if the workload is short. Thread rule: one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/model/simulate.h"
#include "lab/run/arena.h"
#include "lab/workload/simulation_file.h"

namespace millrace::compare {

// Returns cluster and workload as the seed draws them.
using DrawSimulation = std::function<Result<sim::SimulationFile>(std::uint64_t seed)>;

// Returns the time between the samples of a run: a two-hundredth of the least time that the workload can take, so that
// fairness is a mean over enough moments. It does not depend on the scheduler.
[[nodiscard]] Micros SampleInterval(const sim::SimulationFile& file);

// What some metrics need beside the run itself.
struct SimExtras {
  bool slowdowns = false;    // every job is also run alone
  bool foretelling = false;  // ends of jobs are foretold (foretelling.h)
};
// Returns what the metrics of these keys need.
[[nodiscard]] SimExtras ExtrasFor(const std::vector<std::string>& metrics);

// Simulates one draw under one scheduler, without rows of tasks and times alone. Fails as Simulate does. Thread rule:
// any thread.
[[nodiscard]] Result<RunOutcome> SimulateOnce(const sim::SimulationFile& file, const sched::Variant& variant,
                                              SimExtras extras);

class SimArena final : public Arena {
 public:
  // Draws the workload of `seed` at once. `launch` starts the programs that schedulers name. Fails as `draw` does.
  [[nodiscard]] static Result<SimArena> Make(DrawSimulation draw, std::uint64_t seed, SimExtras extras = {},
                                             outside::Launch launch = outside::LaunchHere);

  [[nodiscard]] std::string Kind() const override { return "sim"; }
  [[nodiscard]] std::vector<NodeRow> Nodes() const override;
  [[nodiscard]] Result<RunOutcome> Run(const RunRequest& request) override;

  // Returns the simulation of the seed that was drawn last.
  [[nodiscard]] const sim::SimulationFile& drawn() const { return file_; }

 private:
  SimArena(DrawSimulation draw, SimExtras extras, outside::Launch launch)
      : draw_(std::move(draw)), extras_(extras), launch_(std::move(launch)) {}
  [[nodiscard]] Status Draw(std::uint64_t seed);

  DrawSimulation draw_;
  SimExtras extras_;
  outside::Launch launch_;
  std::uint64_t seed_ = 0;
  sim::SimulationFile file_;
  std::vector<Micros> alone_;
};

}  // namespace millrace::compare
