// `millrace node` shows and changes the machines of a cluster. Thread rule: the main thread.
#pragma once

#include "client/cli/verbs.h"

namespace millrace::cli {

[[nodiscard]] std::vector<Verb> NodeVerbs();

}  // namespace millrace::cli
