// Reads the schedulers that a command line names, with their settings, and splits lists at commas in general.
//
//   --scheduler fair+delay,eager=fair+delay --settings BASE --settings eager=OTHER
//
// names two variants of one scheduler: `fair+delay` with the settings of the file BASE, which holds for all variants
// that have no file of their own, and `eager` with the settings of OTHER instead. Thread rule: free functions, any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/console/arguments.h"
#include "base/status.h"
#include "schedulers/settings/variant.h"

namespace millrace::cli {

// Returns the words between commas, without the blanks around them.
[[nodiscard]] std::vector<std::string> SplitAtCommas(std::string_view text);

struct SchedulerWords {
  std::string schedulers;             // --scheduler
  std::vector<std::string> settings;  // --settings, each FILE or LABEL=FILE
};

// Declares --scheduler and --settings. `more` is appended to the help of --scheduler.
void DeclareSchedulers(console::Arguments& arguments, SchedulerWords* words, const std::string& more);

// Returns whether a word of --settings is LABEL=FILE. A path with a directory before its "=" is a FILE.
[[nodiscard]] bool HasLabel(std::string_view settings);

struct Schedulers {
  std::vector<sched::Variant> variants;
  // The settings of the file for all variants that have no file of their own. Empty if there is no such file.
  std::string settings_text;
  sched::Settings settings;
};

// Returns the schedulers that the words name, in their order; `all` stands for every policy that is not named
// otherwise. A scheduler without a label may be named twice. Returns kInvalid, with the names that exist, for a name
// that is not a scheduler's, a label that two different variants have or that is the name of another scheduler, and
// settings for a label that none has; also the failures of reading and parsing the files.
[[nodiscard]] Result<Schedulers> ReadSchedulers(const SchedulerWords& words);

// Returns the settings for a command without variants: those of one FILE, or none. kInvalid for anything else.
[[nodiscard]] Result<sched::Settings> ReadSettings(const SchedulerWords& words);

}  // namespace millrace::cli
