// `millrace cluster` shows the state of the whole cluster. Thread rule: main.
#pragma once

#include <vector>

#include "client/cli/verbs.h"

namespace millrace::cli {

[[nodiscard]] std::vector<Verb> ClusterVerbs();

}  // namespace millrace::cli
