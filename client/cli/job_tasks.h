// millrace job tasks: what each attempt of a job did, where and for how long. Thread rule: main.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::cli {

int ListTasks(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
