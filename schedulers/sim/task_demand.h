// TaskDemand: what tasks need of the cores of a machine, from what attempts of them took and had of the cores. What an
// attempt took on a busy machine has its waiting for cores in it, and would be counted twice if it were simulated on
// machines with so many cores. Thread rule: as a value.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids/time.h"
#include "schedulers/events/events.h"

namespace millrace::sim {

// Returns how long an attempt that took so long would have taken, in us, if it had had all the cores that it can use,
// and a process of its job. If nothing is told of its cores, it is what it took.
[[nodiscard]] double TimeAlone(Micros took, const sched::ProcessorUse& use);

class TaskDemand {
 public:
  // Takes an attempt that succeeded: a map from its launch, a reduce from when it began to compute.
  void Add(Micros took, const sched::ProcessorUse& use);
  void Add(const TaskDemand& other);

  [[nodiscard]] std::uint64_t attempts() const { return attempts_; }
  // Return means over the attempts, in us; 0 of none. The last two are over those that told.
  [[nodiscard]] double Alone() const { return Over(alone_, attempts_); }
  [[nodiscard]] double Cpu() const { return Over(cpu_, told_); }
  [[nodiscard]] double Waited() const { return Over(waited_, told_); }
  // Returns how many cores an attempt keeps busy while it takes what it takes alone; nothing if none told.
  [[nodiscard]] std::optional<double> Cores() const;
  // Returns the mean CPU time of the processes that started for these attempts; 0 of none.
  [[nodiscard]] double Start() const { return Over(start_, started_); }

 private:
  static double Over(double sum, std::uint64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; }

  std::uint64_t attempts_ = 0, told_ = 0, started_ = 0;
  double alone_ = 0, alone_told_ = 0, cpu_ = 0, waited_ = 0, start_ = 0;  // sums, in us
};

}  // namespace millrace::sim
