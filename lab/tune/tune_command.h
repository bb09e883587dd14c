// SPDX-License-Identifier: Apache-2.0
// `millrace tune`. Thread rule: the main thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::tune {

// The command `millrace tune`: searches schedulers and their settings in the simulator for what would have served the
// cluster better by several goals. Takes the words after the verb.
[[nodiscard]] int TuneCommand(const cli::Invocation& invocation, const cli::Words& args);

}  // namespace millrace::tune
