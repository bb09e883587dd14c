// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/capacity_settings.h"

#include <string>

#include "schedulers/settings/key_list.h"

namespace millrace::sched {
namespace {

constexpr NumberRange kPercent{0, 100};

}  // namespace

void Declare(KeyList& keys, QueueSettings& settings) {
  auto& [capacity, max_capacity, user_limit, supports_priority] = settings;
  keys.Real("capacity", &capacity, kPercent,
            "% of the slots that are guaranteed to it; at most 100 for all queues together");
  keys.Real("max_capacity", &max_capacity, kPercent, "the highest % of the slots that it gets; at least its capacity");
  keys.Real("user_limit", &user_limit, {0, 100, true},
            "% of the queue that is guaranteed to each of its active users; 100: users do not matter");
  keys.Flag("supports_priority", &supports_priority, "its jobs are ordered by priority before submit order");
}

std::optional<Contradiction> QueueSettings::Check(const Settings& settings) {
  double sum = 0;
  for (const auto& [name, queue] : settings.Named<QueueSettings>()) {
    const std::string section = "queues." + name;
    if (queue.max_capacity < queue.capacity) return Contradiction{section, "max_capacity", "is below capacity"};
    sum += queue.capacity;
    if (sum > 100 + 1e-9)
      return Contradiction{section, "capacity", "the capacities of all queues are more than 100 together"};
  }
  return std::nullopt;
}

}  // namespace millrace::sched
