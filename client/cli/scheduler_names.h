// The schedulers that a command line names, with their settings, and lists separated by commas in general.
//
//   --scheduler fair+delay,eager=fair+delay --settings BASE --settings eager=OTHER
//
// names two variants of one scheduler: `fair+delay` with the settings of the file BASE, which all take that have no
// file of their own, and `eager` with those of OTHER in their place. Thread rule: free functions, any thread.
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

// Declares --scheduler and --settings. `more` is appended to what is said of --scheduler.
void DeclareSchedulers(console::Arguments& arguments, SchedulerWords* words, const std::string& more);

// Returns whether a word of --settings is LABEL=FILE. A path with a directory before its "=" is a FILE.
[[nodiscard]] bool HasLabel(std::string_view settings);

struct Schedulers {
  std::vector<sched::Variant> variants;
  // Those of the file for all: they hold for each variant without a file of its own. Empty if there is none.
  std::string settings_text;
  sched::Settings settings;
};

// Returns what the words name, in their order; `all` stands for every policy that stands nowhere else. Returns
// kInvalid, with what there is, for a name that is no scheduler, a label that two different variants have or that is
// the name of another scheduler, and settings for a label that none has; also what reading and parsing the files
// return. A scheduler without a label may stand there twice.
[[nodiscard]] Result<Schedulers> ReadSchedulers(const SchedulerWords& words);

// Returns the settings where no variants are asked for: those of one FILE, or none. kInvalid for anything else.
[[nodiscard]] Result<sched::Settings> ReadSettings(const SchedulerWords& words);

}  // namespace millrace::cli
