// SPDX-License-Identifier: Apache-2.0
// Apply puts what a tuning has chosen in force on the cluster of its history; Undo takes that back.
//
// Settings are in the scheduler file of the master, so they can be changed where that file is. Apply keeps what there
// was in a directory:
//
//   <directory>/applied.json    the schedulers before and after, and the path of the scheduler file (empty: it stays as
//   it is) <directory>/before.toml     the scheduler file as it was, byte for byte <directory>/scheduler.toml  the
//   scheduler file that was put in its place: the same settings but for those chosen
//
// Both change nothing if what they find is not what they expect: somebody else has changed it. Thread rule: the main
// thread.
#pragma once

#include <string>

#include "base/status.h"
#include "client/cli/invocation.h"
#include "lab/advise/history.h"
#include "lab/tune/search.h"

namespace millrace::tune {

// Returns kExists, with what to do, if a tuning of the directory is in force and was not undone: to tune into it again
// would lose what Undo needs.
[[nodiscard]] Status CheckNotApplied(const std::string& directory);

// Puts a try in force: its settings, if it has its own, and then its scheduler. Returns what was done, for people.
// Returns kInvalid, with what to do, if another scheduler than that of the history is in force, or if settings change
// and the master has no scheduler file, or that is not on this machine, or has other settings than the history. If the
// scheduler cannot be set, the file is put back, and the record goes.
[[nodiscard]] Result<std::string> Apply(const cli::Invocation& invocation, const compare::History& history,
                                        const Try& to, const std::string& directory);

// Puts back what Apply found, by the record in the directory. Returns what was done, for people. Returns kInvalid if
// the scheduler or its file was changed since, and kNotFound if the directory has no record.
[[nodiscard]] Result<std::string> Undo(const cli::Invocation& invocation, const std::string& directory);

}  // namespace millrace::tune
