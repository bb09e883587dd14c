// `millrace scheduler` shows and sets the policy that decides what runs where. Thread rule: the main thread.
#pragma once

#include "client/cli/verbs.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

[[nodiscard]] std::vector<Verb> SchedulerVerbs();

// Returns the text of `scheduler show`: the name, the settings in force, pools or queues, deadlines, and why jobs wait.
[[nodiscard]] std::string SchedulerText(const job::SchedulerView& view);

}  // namespace millrace::cli
