// SPDX-License-Identifier: Apache-2.0
// `millrace compare` runs a workload several times under each of several schedulers and says which one serves it best,
// and how sure that is (docs/schedulers/comparing.md). Thread rule: the main thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::compare {

[[nodiscard]] int CompareCommand(const cli::Invocation& invocation, const cli::Words& args);

}  // namespace millrace::compare
