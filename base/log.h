// Logging: spdlog (the compiled library) behind a handle that is passed in.
//   log->info("block {} has {} replicas", id, n);
// Lines go to standard error (journald takes them there) or a file. As text they are "2026-01-31T12:00:00.000Z info
// worker two: text" in UTC; as JSON each is an object:
//   {"time":"2026-01-31T12:00:00.000Z","level":"info","component":"worker","node":"two","message":"text"}
// What is said is made printable (base/text.h), since names come from anywhere. Thread rule: any thread.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/options.h"

namespace millrace {

using Log = std::shared_ptr<spdlog::logger>;

struct LogOptions {
  std::string level = "info";   // trace, debug, info, warn, error, off; unknown ones are info
  std::string format = "text";  // or json
  std::string file = {};        // as in "x.log"; empty: standard error
  // A file of this size is renamed (x.1.log, that x.2.log and so on) and a new one begun. So many renamed ones stay.
  std::uint64_t file_bytes = std::uint64_t{64} << 20;
  std::int64_t old_files = 3;
};

// Declares log.format and the options of the file. The level is declared by each daemon under its own name.
void DeclareLogOptions(OptionSet* set, LogOptions* options);

// Returns a log for the lines of one daemon; `node` tells it from others of its kind, and may be empty. A file that
// cannot be opened is reported on standard error, which then takes the lines.
[[nodiscard]] Log MakeLog(const std::string& component, const std::string& node, const LogOptions& options);
[[nodiscard]] Log MakeSilentLog();

}  // namespace millrace
