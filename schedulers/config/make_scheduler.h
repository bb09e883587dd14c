// From what the journal says of a scheduler to its policy: one way for the live master, its recovery and the simulator.
// Thread rule: any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "schedulers/core/events.h"
#include "schedulers/core/policy.h"

namespace millrace::sched {

// Null when the settings cannot be read or MakePolicy (policies/catalog.h) refuses; *why then says so in one line.
// `background`: searches for plans have a thread of their own (cp); the live master's way.
[[nodiscard]] std::unique_ptr<Policy> MakeScheduler(const SchedulerSet& scheduler, bool background, std::string* why);

// For EngineOptions::make_policy.
[[nodiscard]] std::function<std::unique_ptr<Policy>(const SchedulerSet&)> SchedulerMaker(bool background);

}  // namespace millrace::sched
