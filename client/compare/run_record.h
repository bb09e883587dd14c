// RunRecord: a run that was made, and its bytes in a file.
//
// The file is a frame (magic "MILLRUNS", version, length, CRC-32C of the rest) around the fields in a fixed order
// (base/bytes.h). Whatever was cut off or changed in it is refused, and so is a version that is not this one.
// Thread rule: values and free functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/compare/arena.h"
#include "client/compare/phases.h"
#include "client/compare/plan.h"

namespace millrace::compare {

struct RunRecord {
  PlannedRun run;
  RunOutcome outcome;
  std::optional<Phases> phases;  // these outlive the rows of tasks, if those are dropped
};

// What decides what the runs of a comparison are like, as names and values. Comparisons that differ in one of them must
// not be mixed.
using Conditions = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] std::string EncodeRun(const RunRecord& record);
[[nodiscard]] std::string EncodeConditions(const Conditions& conditions);

// Return kCorrupt, with `name` and what to do, for anything but the bytes of one record: also if a row names a job or a
// kind of end that does not exist.
[[nodiscard]] Result<RunRecord> DecodeRun(std::string_view bytes, const std::string& name);
[[nodiscard]] Result<Conditions> DecodeConditions(std::string_view bytes, const std::string& name);

// Returns what the plan has to know of the run.
[[nodiscard]] MadeRun MadeOf(const RunRecord& record);

}  // namespace millrace::compare
