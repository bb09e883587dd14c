// `millrace whoami` shows the user's identity and rights at the master. Thread rule: any thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::cli {

[[nodiscard]] int WhoAmICommand(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
