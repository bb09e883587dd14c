// The schedulers that a command line names, and lists separated by commas in general. Thread rule: free functions, any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "schedulers/settings/settings.h"

namespace millrace::cli {

inline constexpr const char* kSchedulersHelp =
    "schedulers, separated by commas; \"all\" stands for every policy without additions";

// Returns the words between commas, without the blanks around them.
[[nodiscard]] std::vector<std::string> SplitAtCommas(std::string_view text);

// Returns the names, as the policies call themselves. Returns kInvalid, with what there is, if one is no scheduler. A
// name may stand there twice; "all" adds only those that stand nowhere else.
[[nodiscard]] Result<std::vector<std::string>> ParseSchedulers(std::string_view text, const sched::Settings& settings);

}  // namespace millrace::cli
