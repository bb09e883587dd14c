// The catalogue: every policy by its name, what may be added to it (`fair+delay+ccs+preempt`), and what they can be
// told. A policy has its line in catalog.cc, and so has its section of settings.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/settings/section.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

struct PolicyInfo {
  struct RefusedPart {
    std::string name;
    std::string why;  // a clause for people: why it does not go with the policy, and what to use for it instead
  };
  std::string name;
  std::string one_line;
  std::vector<std::string> parts;    // that may be added: "delay", "ccs", "preempt"
  std::vector<RefusedPart> refused;  // the others
};

[[nodiscard]] std::vector<PolicyInfo> ListPolicies();

// Returns the sections of the scheduler file, each name once, in the order in which settings are written: it is part of
// their text, which the journal holds.
[[nodiscard]] std::span<const Section> ListSections();

// Returns the policy of an expression: a name and parts, each once, in any order (`fair+ccs+delay`). Returns null when
// there is no such policy or part, or when they make no sense together; *why then says in one line what there is, or
// why they do not go together and what to use instead. The policy's name() is the expression with the parts in the
// order delay, ccs, preempt. With SpeculationSettings on, the policy also duplicates slow tasks; EvictionSettings say
// which job it lets give way.
[[nodiscard]] std::unique_ptr<Policy> MakePolicy(std::string_view expression, const Settings& settings,
                                                 std::string* why);

}  // namespace millrace::sched
