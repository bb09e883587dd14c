// Variant: a scheduler with its settings, under a label. Simulations and comparisons run several variants, so that one
// policy can be compared with itself under other settings. Thread rule: a value.
#pragma once

#include <string>
#include <vector>

#include "schedulers/settings/settings.h"

namespace millrace::sched {

struct Variant {
  std::string label;      // its name in tables and documents; the scheduler's name unless the user gives another
  std::string scheduler;  // the name of the policy, such as fair+delay
  std::string settings_text = {};  // the text of its scheduler file; empty if there is none
  Settings settings = {};          // the contents of that file
};

[[nodiscard]] inline std::vector<std::string> LabelsOf(const std::vector<Variant>& variants) {
  std::vector<std::string> labels;
  for (const Variant& variant : variants) labels.push_back(variant.label);
  return labels;
}

}  // namespace millrace::sched
