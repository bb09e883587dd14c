// SPDX-License-Identifier: Apache-2.0
// The settings that count with every scheduler: speculation, and who gives way for lack of room. Times are in us.
#pragma once

#include <optional>
#include <string_view>

#include "base/ids/time.h"
#include "schedulers/core/policy.h"

namespace millrace::sched {

class KeyList;

// SpeculationSettings: the limits from which tasks are slow enough to be duplicated (speculation.h).
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

// EvictionSettings: the choice of the job that gives way when no job can continue for lack of room for map outputs
// (schedulers/core/engine.h).
struct EvictionSettings {
  GivesWay gives_way = GivesWay::kSubmittedLast;
  Micros gives_up_after = 300 * kSecond;

  static constexpr std::string_view kSection = "eviction";
  static constexpr std::string_view kOneLine =
      "With every scheduler: when no job can go on for lack of room for map outputs, one of them gives way; one whose "
      "outputs fit nowhere fails.";
};

void Declare(KeyList& keys, EvictionSettings& settings);

}  // namespace millrace::sched
