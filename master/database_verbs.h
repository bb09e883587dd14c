// `millrace master restore` and `millrace master repair` work on a master's database while no master has it open.
// Thread rule: main.
#pragma once

#include <string>
#include <vector>

#include "base/console/console.h"

namespace millrace::master {

// These take the words after the verb and return the exit status of the process.
[[nodiscard]] int RunRestore(const std::vector<std::string>& args, const console::Console& console);
[[nodiscard]] int RunRepair(const std::vector<std::string>& args, const console::Console& console);

}  // namespace millrace::master
