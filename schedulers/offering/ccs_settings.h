// CcsSettings: the number of reduces that a node holds under copy-compute splitting (copy_compute_splitting.h).
#pragma once

#include <string_view>

namespace millrace::sched {

class KeyList;

struct CcsSettings {
  double max_reducers = 3;  // the most reduces that a node holds, as a multiple of its reduce slots; at least 1

  static constexpr std::string_view kSection = "ccs";
  static constexpr std::string_view kOneLine = "With +ccs.";
};

void Declare(KeyList& keys, CcsSettings& settings);

}  // namespace millrace::sched
