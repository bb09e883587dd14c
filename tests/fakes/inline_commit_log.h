// SPDX-License-Identifier: Apache-2.0
// A CommitLog for driven time. Thread rule: the control thread.
#pragma once

#include <functional>
#include <memory>

#include "base/rpc/commit_log.h"

namespace millrace::rpc {

// Returns a log that writes at once, on the caller's thread. Requires: `store` outlives it.
[[nodiscard]] std::unique_ptr<CommitLog> MakeInlineCommitLog(KeyValueStore& store,
                                                             std::function<void(const Status&)> on_failure);

}  // namespace millrace::rpc
