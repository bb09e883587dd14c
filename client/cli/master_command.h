// `millrace master backup` makes a backup of a running master's database. Thread rule: any thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::cli {

[[nodiscard]] int BackUpMaster(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
