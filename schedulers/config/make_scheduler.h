// Makes a policy from what the journal says of a scheduler. The live master, its recovery and the simulator all use it.
// Thread rule: any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "schedulers/core/policy.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

// Returns null when the settings cannot be read or MakePolicy (policies/catalog.h) refuses; *why then says so in one
// line. With `background` searches for plans have a thread of their own (cp), as the live master wants it.
[[nodiscard]] std::unique_ptr<Policy> MakeScheduler(const SchedulerSet& scheduler, bool background, std::string* why);

// Returns "; did you mean fair?" for an expression whose name is that of no scheduler and close to one; otherwise "".
[[nodiscard]] std::string NearestScheduler(std::string_view expression);

// Returns a function for EngineOptions::make_policy.
[[nodiscard]] std::function<std::unique_ptr<Policy>(const SchedulerSet&)> SchedulerMaker(bool background);

}  // namespace millrace::sched
