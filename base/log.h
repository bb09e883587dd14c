// Logging: spdlog (the compiled library) behind a handle that is passed in.
//   log->info("block {} has {} replicas", id, n);
// Lines are "2026-01-31T12:00:00.000Z info name: text" in UTC and go to standard error (journald takes them there) or a
// file. Arguments of a line are made printable (base/text.h), since names come from anywhere. Thread rule: any thread.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>

namespace millrace {

using Log = std::shared_ptr<spdlog::logger>;

// level: trace, debug, info, warn, error, off (unknown ones are info). An empty path is standard error. A file is kept
// to 64 MiB with three older ones beside it (path.1 ...); one that cannot be opened is reported on standard error,
// which then takes the lines.
[[nodiscard]] Log MakeLog(const std::string& name, const std::string& level, const std::string& path = {});
[[nodiscard]] Log MakeSilentLog();

}  // namespace millrace
