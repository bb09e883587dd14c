// SPDX-License-Identifier: Apache-2.0
// Lists every scheduler of the catalogue by name, with every combination of its parts.
#pragma once

#include <string>
#include <vector>

#include "schedulers/policies/catalog.h"

namespace millrace::sched {

// Returns "fifo", "fifo+delay", "fifo+ccs", "fifo+delay+ccs", "capacity" and so on.
inline std::vector<std::string> EverySchedulerByName() {
  std::vector<std::string> all;
  for (const PolicyInfo& info : ListPolicies()) {
    for (unsigned parts = 0; parts < 1U << info.parts.size(); ++parts) {
      std::string& name = all.emplace_back(info.name);
      for (std::size_t part = 0; part < info.parts.size(); ++part) {
        if ((parts >> part & 1) != 0) name += '+' + info.parts[part];
      }
    }
  }
  return all;
}

}  // namespace millrace::sched
