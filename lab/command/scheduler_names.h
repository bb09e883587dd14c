// SPDX-License-Identifier: Apache-2.0
// Reads the schedulers that a command line names, with their settings. Also splits other lists at commas.
//
//   --scheduler fair+delay,eager=fair+delay --settings BASE --settings eager=OTHER
//
// names two variants of one scheduler: `fair+delay` with the settings of the file BASE, which all variants without a
// file of their own have, and `eager` with the settings of OTHER instead. `external:PATH` stands for the scheduler
// `external` with this program, whose label is the name of the file; parts follow as after any name
// (external:PATH+ccs). Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/console/arguments.h"
#include "base/status.h"
#include "schedulers/outside/program.h"
#include "schedulers/settings/settings.h"

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

// Returns kInvalid if one of the variants is a program (external:PATH). `instead` says what to
// do.
[[nodiscard]] Status CheckNoPrograms(const std::vector<sched::Variant>& variants, const std::string& instead);

struct Schedulers {
  std::vector<sched::Variant> variants;
  // The settings of the file for all variants that have no file of their own. Empty if there is no such file.
  std::string settings_text;
  sched::Settings settings;
};

// Returns the schedulers that the words name, in their order; `all` stands for every policy that the words do not name
// themselves. A scheduler without a label may be named twice. Returns kInvalid for
// - an unknown scheduler (the message has the names that exist),
// - a label that two different variants have, or that is the name of another scheduler,
// - settings for a label that no variant has.
// Also fails as reading and parsing the files do. Programs are started by `launch`, to say of which kind they are.
[[nodiscard]] Result<Schedulers> ReadSchedulers(const SchedulerWords& words,
                                                const outside::Launch& launch = outside::LaunchHere);

// Returns the settings for a command without variants: those of the one FILE, or the defaults without a FILE. Returns
// kInvalid for other words.
[[nodiscard]] Result<sched::Settings> ReadSettings(const SchedulerWords& words);

}  // namespace millrace::cli
