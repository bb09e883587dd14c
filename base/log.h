// Logging: spdlog behind a handle that is passed in. Lines go to standard error (journald takes them there) or a file.
// Thread rule: any thread.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>

namespace millrace {

using Log = std::shared_ptr<spdlog::logger>;

// level: trace, debug, info, warn, error, off (unknown ones are info). An empty path is standard error.
[[nodiscard]] Log MakeLog(const std::string& name, const std::string& level, const std::string& path = {});
[[nodiscard]] Log MakeSilentLog();

}  // namespace millrace
