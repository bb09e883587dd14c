// `millrace job tasks` lists the attempts of a job: their ends, nodes and times. Thread rule: main.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::cli {

int ListTasks(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
