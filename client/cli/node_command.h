// `millrace node` and `millrace scheduler`: the machines of a cluster, and the policy that decides what runs on them.
// Thread rule: the main thread.
#pragma once

#include "client/cli/verbs.h"

namespace millrace::cli {

[[nodiscard]] std::vector<Verb> NodeVerbs();
[[nodiscard]] std::vector<Verb> SchedulerVerbs();

}  // namespace millrace::cli
