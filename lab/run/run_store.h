// SPDX-License-Identifier: Apache-2.0
// RunStore keeps the finished runs of a comparison, each in a file of its own below DIR/runs, so that a comparison that
// was stopped can be continued later.
//
//   runs/conditions   the conditions that determine the runs (Conditions)
//   runs/3-1.run      the run of block 3 and order 1; 3-1-2.run if it was made for the third time
//   runs/lock         locked while a command compares into DIR
//
// Once Add has returned, the run is stored, even after a crash. Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "lab/run/run_record.h"

namespace millrace::compare {

class RunStore {
 public:
  // Makes DIR or opens it, and reads the stored runs. Returns kCorrupt if a file is damaged. Returns kInvalid, with
  // what to do, if DIR is in use or holds
  // - something other than a comparison,
  // - a comparison under other conditions (the first difference is named); with `discard` its runs are removed instead,
  // - a run that the plan of `design` does not have.
  [[nodiscard]] static Result<RunStore> Open(const std::string& directory, const Conditions& conditions,
                                             const Design& design, std::size_t nodes, bool discard);

  [[nodiscard]] Status Add(RunRecord record);

  // The runs, in the order in which they were read and added.
  [[nodiscard]] const std::vector<RunRecord>& runs() const { return runs_; }
  [[nodiscard]] std::vector<MadeRun> Made() const;
  // Returns the runs that count (RunsThatCount) of the first `blocks` blocks. The pointers are valid until Add.
  [[nodiscard]] std::vector<const RunRecord*> Counting(std::uint32_t blocks) const;

 private:
  explicit RunStore(std::string below) : below_(std::move(below)) {}
  [[nodiscard]] Status Lock(const std::string& directory);
  [[nodiscard]] Status Settle(const std::string& directory, const Conditions& conditions, bool discard);
  [[nodiscard]] Status Read(const Design& design, std::size_t nodes);

  std::string below_;  // DIR/runs
  Fd lock_;
  std::vector<RunRecord> runs_;
};

}  // namespace millrace::compare
