// SPDX-License-Identifier: Apache-2.0
// TaskDemand: the cores that tasks need, computed from the run times of attempts and their use of cores. The run time
// of an attempt on a busy machine includes its waits for cores, which would count twice in a simulation of machines
// with the same number of cores. Thread rule: a value.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids/time.h"
#include "schedulers/events/events.h"

namespace millrace::sim {

// Returns how long an attempt that took `took` us would have taken, in us, with all the cores that it can use, and with
// a process of its job already started. If its use of cores was not reported, this is `took`.
[[nodiscard]] double TimeAlone(Micros took, const sched::ProcessorUse& use);

class TaskDemand {
 public:
  // Adds an attempt that succeeded. `took` counts from the launch of a map, and from the start of a reduce's
  // computation.
  void Add(Micros took, const sched::ProcessorUse& use);
  void Add(const TaskDemand& other);

  [[nodiscard]] std::uint64_t attempts() const { return attempts_; }
  // Return means over the attempts, in us; 0 if there are none. Cpu and Waited are over the attempts that reported
  // their use of cores.
  [[nodiscard]] double Alone() const { return Over(alone_, attempts_); }
  [[nodiscard]] double Cpu() const { return Over(cpu_, told_); }
  [[nodiscard]] double Waited() const { return Over(waited_, told_); }
  // Returns how many cores an attempt keeps busy during its time alone (TimeAlone); nothing if no attempt reported its
  // use.
  [[nodiscard]] std::optional<double> Cores() const;
  // Returns the mean CPU time of the processes that started for these attempts; 0 if there are none.
  [[nodiscard]] double Start() const { return Over(start_, started_); }

 private:
  static double Over(double sum, std::uint64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; }

  std::uint64_t attempts_ = 0, told_ = 0, started_ = 0;
  double alone_ = 0, alone_told_ = 0, cpu_ = 0, waited_ = 0, start_ = 0;  // sums, in us
};

}  // namespace millrace::sim
