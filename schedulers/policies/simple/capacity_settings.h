// SPDX-License-Identifier: Apache-2.0
// QueueSettings: the settings of one queue of `capacity`. If no queue has settings, one queue, "default", has
// everything.
#pragma once

#include <optional>
#include <string_view>

#include "schedulers/settings/section.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

struct QueueSettings {
  double capacity = 0;        // % of the slots, 0 to 100; all queues together at most 100
  double max_capacity = 100;  // ceiling in %, at least capacity
  double user_limit = 100;    // minimum % of the queue for each active user, above 0
  bool supports_priority = false;

  static constexpr std::string_view kSection = "queues";
  static constexpr std::string_view kOneLine =
      "A queue of capacity; if there is none, one queue, \"default\", has everything.";
  // Checks all queues together.
  static std::optional<Contradiction> Check(const Settings& settings);
};

void Declare(KeyList& keys, QueueSettings& settings);

}  // namespace millrace::sched
