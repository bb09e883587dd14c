// SPDX-License-Identifier: Apache-2.0
// Makes a policy from a scheduler's entry in the journal (SchedulerSet). The live master, its recovery and the
// simulator all use it. Thread rule: any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "schedulers/core/policy.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

// Returns the policy; null if the settings cannot be read or MakePolicy (policies/catalog.h) refuses. *why then gives
// the reason in one line. With `background`, searches for plans (cp) run on a thread of their own, for the live master.
[[nodiscard]] std::unique_ptr<Policy> MakeScheduler(const SchedulerSet& scheduler, bool background, std::string* why);

// Returns a text such as "; did you mean fair?" if no scheduler has the expression's name but one has a name close to
// it; otherwise "".
[[nodiscard]] std::string NearestScheduler(std::string_view expression);

// Returns a function for EngineOptions::make_policy.
[[nodiscard]] std::function<std::unique_ptr<Policy>(const SchedulerSet&)> SchedulerMaker(bool background);

}  // namespace millrace::sched
