// RunStore: the finished runs of a comparison, each in a file of its own below DIR/runs, so that a comparison that was
// stopped goes on where it was.
//
//   runs/conditions   what decides what the runs are like (Conditions)
//   runs/3-1.run      the run of block 3 and order 1; 3-1-2.run when it was made for the third time
//   runs/lock         is locked while a command compares into DIR
//
// A run is there once Add has returned, also after a crash. Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "client/compare/run_record.h"

namespace millrace::compare {

class RunStore {
 public:
  // Makes DIR or opens it, and reads the runs that are there. Returns kInvalid, with what to do, if DIR is in use,
  // holds something else than a comparison, one under other conditions (the first that differs is named), or a run that
  // the plan of `design` does not have; kCorrupt for a file that is damaged. With `discard` runs under other conditions
  // are removed instead.
  [[nodiscard]] static Result<RunStore> Open(const std::string& directory, const Conditions& conditions,
                                             const Design& design, std::size_t nodes, bool discard);

  [[nodiscard]] Status Add(RunRecord record);

  // In the order in which they were read and added.
  [[nodiscard]] const std::vector<RunRecord>& runs() const { return runs_; }
  [[nodiscard]] std::vector<MadeRun> Made() const;
  // Returns those that count (RunsThatCount), of the first `blocks` blocks. Valid until Add.
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
