// `millrace whoami`: who the master takes the user for, and what he may do. Thread rule: any thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::cli {

[[nodiscard]] int WhoAmICommand(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
