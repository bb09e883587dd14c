// SPDX-License-Identifier: Apache-2.0
// `millrace advise`. Thread rule: the main thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::compare {

// The command `millrace advise`: says which scheduler would have served the cluster best, and what to change. Takes the
// words after the verb.
[[nodiscard]] int AdviseCommand(const cli::Invocation& invocation, const cli::Words& args);

}  // namespace millrace::compare
