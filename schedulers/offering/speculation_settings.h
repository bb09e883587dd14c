// SpeculationSettings: the limits from which tasks are slow enough to be duplicated (speculation.h). Times are in us.
#pragma once

#include <optional>
#include <string_view>

#include "base/ids/time.h"

namespace millrace::sched {

class KeyList;

struct SpeculationSettings {
  std::optional<bool>
      enabled;  // absent: on in live clusters, and off in simulations, where no task is slow unless made so
  double slow_task_share = 0.25;      // the slowest quarter by progress rate may be duplicated
  double slow_node_share = 0.25;      // nodes among the slowest quarter get no duplicates
  double max_share = 0.1;             // the share of the slots of a kind that duplicates may hold
  Micros min_runtime = 10 * kSecond;  // an attempt younger than this, and than its job's usual time, is not judged

  [[nodiscard]] bool on() const { return enabled.value_or(false); }

  static constexpr std::string_view kSection = "speculation";
  static constexpr std::string_view kOneLine = "With every scheduler.";
};

void Declare(KeyList& keys, SpeculationSettings& settings);

}  // namespace millrace::sched
