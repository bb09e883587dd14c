// SPDX-License-Identifier: Apache-2.0
// Writes a comparison in all its forms to its directory: report.html, comparison.json and tables
// (docs/schedulers/comparing.md). Thread rule: free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/beside/beside.h"
#include "lab/report/document.h"
#include "lab/run/run_store.h"

namespace millrace::compare {

// Writes all forms and, if `beside` is given, simulated.csv. Requires: `material` has its details.
[[nodiscard]] Status WriteAllForms(const std::string& directory, const Material& material,
                                   const std::optional<Beside>& beside = std::nullopt);

// Removes the forms if the store has no run, since the forms then belong to another comparison.
[[nodiscard]] Status RemoveOldForms(const std::string& directory, const RunStore& store);

// Describes the command that makes a document: fills in the command (the verb and the words after it), the machine and
// the current time.
void FillSubject(const std::string& verb, const std::vector<std::string>& args, Subject* subject);

}  // namespace millrace::compare
