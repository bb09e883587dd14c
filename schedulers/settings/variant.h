// Variant: a scheduler with its settings, under a label. It is what simulations and comparisons run beside others, so
// that one policy can be compared with itself under other settings. Thread rule: a value.
#pragma once

#include <string>
#include <vector>

#include "schedulers/settings/settings.h"

namespace millrace::sched {

struct Variant {
  std::string label;               // what tables and documents call it; the scheduler's name unless a user says another
  std::string scheduler;           // as the policy calls itself, such as fair+delay
  std::string settings_text = {};  // of its scheduler file; empty if there is none
  Settings settings = {};          // what is in that file
};

[[nodiscard]] inline std::vector<std::string> LabelsOf(const std::vector<Variant>& variants) {
  std::vector<std::string> labels;
  for (const Variant& variant : variants) labels.push_back(variant.label);
  return labels;
}

}  // namespace millrace::sched
