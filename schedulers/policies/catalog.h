// SPDX-License-Identifier: Apache-2.0
// The catalogue: every policy by its name, the parts that may be added to it (`fair+memory+delay+ccs+preempt`), and the
// settings of all policies. Each policy and each section of settings has one line in catalog.cc.
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

// The policy that asks a program, which ExternalSettings name. Without a program it is its fallback in another dress.
inline constexpr std::string_view kExternal = "external";

struct PolicyInfo {
  struct RefusedPart {
    std::string name;
    std::string why;  // a clause for people: why the part does not go with the policy, and the alternative
  };
  std::string name;
  std::string one_line;
  std::vector<std::string> parts;    // parts that may be added: "memory", "delay", "ccs", "preempt"
  std::vector<RefusedPart> refused;  // the other parts
};

[[nodiscard]] std::vector<PolicyInfo> ListPolicies();

// Returns the sections of the scheduler file, each name once, in the order in which settings are written. The order is
// part of their text, which the journal holds.
[[nodiscard]] std::span<const Section> ListSections();

// Returns the policy of an expression: a name and parts, each once, in any order (`fair+ccs+delay`). Returns null if
// there is no such policy or part, or if they make no sense together; *why then lists the policies or parts in one
// line, or explains why they do not go together and names an alternative. The policy's name() is the expression with
// the parts in the order memory, delay, ccs, preempt. With SpeculationSettings on, the policy also duplicates slow
// tasks; EvictionSettings choose the job that gives way.
[[nodiscard]] std::unique_ptr<Policy> MakePolicy(std::string_view expression, const Settings& settings,
                                                 std::string* why);

// What a word names as its scheduler: an expression, or one with a program.
struct Spec {
  std::string expression, program;
};
// Cuts "external:PATH+ccs" into "external+ccs" and PATH. A '+' of the path stays there unless a part follows it.
[[nodiscard]] Spec CutSpec(const std::string& word);

}  // namespace millrace::sched
