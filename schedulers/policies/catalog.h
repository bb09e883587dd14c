// Every policy by its name, and what may be added to it: `fair+delay+ccs+preempt`. Adding one is one file and one line
// in catalog.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

struct PolicyInfo {
  std::string name;
  std::string one_line;
  std::vector<std::string> parts;  // that may be added: "delay", "ccs", "preempt"
};

[[nodiscard]] std::vector<PolicyInfo> ListPolicies();

// `expression` is a name and parts, each once, in any order: `fair+ccs+delay`. Null when there is no such policy or
// part, or when the two make no sense together; *why then says so in one line and names what there is. The policy's
// name() is the expression with the parts in the order delay, ccs, preempt. With settings.speculation the policy also
// duplicates slow tasks.
[[nodiscard]] std::unique_ptr<Policy> MakePolicy(std::string_view expression, const Settings& settings,
                                                 std::string* why);

}  // namespace millrace::sched
