// SPDX-License-Identifier: Apache-2.0
#include "lab/journal/task_demand.h"

#include <algorithm>

namespace millrace::sim {

double TimeAlone(Micros took, const sched::ProcessorUse& use) {
  const auto all = static_cast<double>(took);
  if (use.cpu == 0 || took <= 0) return all;
  return std::max(1.0, all - static_cast<double>(use.start + use.waited));
}

void TaskDemand::Add(Micros took, const sched::ProcessorUse& use) {
  const double alone = TimeAlone(took, use);
  ++attempts_, alone_ += alone;
  if (use.cpu == 0) return;
  ++told_, alone_told_ += alone, cpu_ += static_cast<double>(use.cpu), waited_ += static_cast<double>(use.waited);
  if (use.start > 0) ++started_, start_ += static_cast<double>(use.start);
}

void TaskDemand::Add(const TaskDemand& other) {
  attempts_ += other.attempts_, told_ += other.told_, started_ += other.started_;
  alone_ += other.alone_, alone_told_ += other.alone_told_, cpu_ += other.cpu_, waited_ += other.waited_,
      start_ += other.start_;
}

std::optional<double> TaskDemand::Cores() const {
  if (told_ == 0) return std::nullopt;
  return alone_told_ > 0 ? cpu_ / alone_told_ : 1;
}

}  // namespace millrace::sim
