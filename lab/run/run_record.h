// SPDX-License-Identifier: Apache-2.0
// RunRecord is a finished run of a comparison. It can be encoded for a file.
//
// The file is a frame (magic "MILLRUNS", version, length, CRC-32C of the rest) around the fields in a fixed order
// (base/bytes.h). A file that was cut or changed is refused, and so is another version.
// Thread rule: values and free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "lab/run/arena.h"
#include "lab/run/phases.h"
#include "lab/run/plan.h"

namespace millrace::compare {

struct RunRecord {
  PlannedRun run;
  RunOutcome outcome;
  std::optional<Phases> phases;  // kept even if the rows of tasks are dropped
};

// The conditions that determine the runs of a comparison, as names and values. Runs under different conditions must not
// be mixed.
using Conditions = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] std::string EncodeRun(const RunRecord& record);
[[nodiscard]] std::string EncodeConditions(const Conditions& conditions);

// Both return kCorrupt, with `name` and what to do, if the bytes are not exactly one record, or if a row names a job or
// a kind of end that does not exist.
[[nodiscard]] Result<RunRecord> DecodeRun(std::string_view bytes, const std::string& name);
[[nodiscard]] Result<Conditions> DecodeConditions(std::string_view bytes, const std::string& name);

// Returns the facts of the run that the plan needs.
[[nodiscard]] MadeRun MadeOf(const RunRecord& record);

}  // namespace millrace::compare
