// `millrace job`: list, status, wait, kill, counters, logs, history, priority. Thread rule: the main thread.
#pragma once

#include "client/cli/verbs.h"

namespace millrace::cli {

[[nodiscard]] std::vector<Verb> JobVerbs();

}  // namespace millrace::cli
