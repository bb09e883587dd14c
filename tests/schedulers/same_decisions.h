// SPDX-License-Identifier: Apache-2.0
// ExpectSameDecisions checks that a policy decides as its reference does throughout a history.
#pragma once

#include <memory>
#include <vector>

#include "schedulers/core/policy.h"
#include "tests/schedulers/history.h"

namespace millrace::sched {

// Plays the events of a history to both policies. Fails the test at the first Decide at which their decisions differ.
void ExpectSameDecisions(const std::vector<History::Record>& records, std::unique_ptr<Policy> policy,
                         std::unique_ptr<Policy> reference);

}  // namespace millrace::sched
