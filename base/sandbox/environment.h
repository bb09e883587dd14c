// SPDX-License-Identifier: Apache-2.0
// The variables that processes of others get from the environment of this one: those that programs need to run at all.
// The rest may hold secrets. Thread rule: nobody changes the environment meanwhile.
#pragma once

#include <string>
#include <vector>

#include "base/sandbox/launch_order.h"

namespace millrace::sandbox {

// Returns PATH, HOME, the locale, ... of this process, as "NAME=value".
[[nodiscard]] std::vector<std::string> PlainEnvironment();

// Makes them the variables of a confined process, which has no home, no user's name, and a /tmp that is its own where
// it sees files of its own.
void Confine(const LaunchOrder& order, std::vector<std::string>* variables);

}  // namespace millrace::sandbox
