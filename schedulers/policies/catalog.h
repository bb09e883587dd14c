// Every policy by its name. Adding one is one file and one line in catalog.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/core/policy.h"

namespace millrace::sched {

struct PolicyInfo {
  std::string name;
  std::string one_line;
};

[[nodiscard]] std::vector<PolicyInfo> ListPolicies();
// Null when there is no policy of that name; *why then says so and names those that exist.
[[nodiscard]] std::unique_ptr<Policy> MakePolicy(std::string_view name, std::string* why);

}  // namespace millrace::sched
