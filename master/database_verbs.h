// `millrace master restore` and `millrace master repair`: what is done to a master's database while no master has it
// open. Thread rule: main.
#pragma once

#include <string>
#include <vector>

namespace millrace::master {

// With the words after the verb; the exit status of the process.
[[nodiscard]] int RunRestore(const std::vector<std::string>& args);
[[nodiscard]] int RunRepair(const std::vector<std::string>& args);

}  // namespace millrace::master
