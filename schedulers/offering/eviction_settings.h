// EvictionSettings: the choice of the job that gives way when no job can continue for lack of room for map outputs
// (schedulers/core/engine.h).
#pragma once

#include <string_view>

#include "schedulers/core/policy.h"

namespace millrace::sched {

class KeyList;

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
