// SPDX-License-Identifier: Apache-2.0
// Log: an spdlog logger (from the compiled library), passed in as a handle.
//   log->info("block {} has {} replicas", id, n);
// Lines go to standard error (where journald collects them) or to a file. A text line is "2026-01-31T12:00:00.000Z info
// worker two: text", in UTC; a JSON line is one object:
//   {"time":"2026-01-31T12:00:00.000Z","level":"info","component":"worker","node":"two","message":"text"}
// Messages are made printable (base/text.h), since names come from anywhere. Thread rule: any thread.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/options.h"

namespace millrace {

using Log = std::shared_ptr<spdlog::logger>;

struct LogOptions {
  std::string level = "info";   // trace, debug, info, warn, error, off; any other text means info
  std::string format = "text";  // or json
  std::string file = {};        // as in "x.log"; empty: standard error
  // A file of this size is renamed (x.log to x.1.log, x.1.log to x.2.log and so on) and a new one begun. The latest
  // `old_files` renamed ones are kept.
  std::uint64_t file_bytes = std::uint64_t{64} << 20;
  std::int64_t old_files = 3;
};

// Declares log.format and the options of the log file. Each daemon declares the level under its own name.
void DeclareLogOptions(OptionSet* set, LogOptions* options);

// Returns a log for the lines of one daemon; `node` distinguishes it from others of its kind, and may be empty. If the
// file cannot be opened, the log reports that and writes to standard error.
[[nodiscard]] Log MakeLog(const std::string& component, const std::string& node, const LogOptions& options);
// Gives another `node` to the lines from now on. The other arguments are those with which the log was made.
void NameLog(const Log& log, const std::string& component, const std::string& node, const LogOptions& options);
[[nodiscard]] Log MakeSilentLog();

}  // namespace millrace
