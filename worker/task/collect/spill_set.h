// SPDX-License-Identifier: Apache-2.0
// SpillSet holds the runs that a collector spilled, in order of emission, and merges them into the final run. Thread
// rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "worker/task/collect/collector.h"
#include "worker/task/run/run_file.h"
#include "worker/task/run/segment_merger.h"

namespace millrace::map {

// Makes the run file of a collector. `expected_bytes` is the approximate number of raw bytes that it will contain.
[[nodiscard]] Result<run::RunWriter> CreateRun(const CollectorOptions& options, std::uint64_t expected_bytes);

class SpillSet {
 public:
  explicit SpillSet(const CollectorOptions& options);  // Requires: `options` outlives this
  ~SpillSet();                                         // removes the spills
  SpillSet(const SpillSet&) = delete;
  SpillSet& operator=(const SpillSet&) = delete;

  [[nodiscard]] bool empty() const { return paths_.empty(); }
  [[nodiscard]] std::size_t size() const { return paths_.size(); }
  // Returns a writer for the next spill.
  [[nodiscard]] Result<run::RunWriter> Begin();
  // Merges all spills into the run file in one pass, combines values if `combiner` is not null, and counts the output
  // in `figures`.
  [[nodiscard]] Status Merge(RunCombiner* combiner, CollectorFigures* figures);

 private:
  struct Spill;
  [[nodiscard]] Result<std::vector<Spill>> Open() const;
  [[nodiscard]] Result<std::vector<run::SegmentCursor>> Cursors(const std::vector<Spill>& spills,
                                                                std::uint32_t partition) const;

  [[nodiscard]] bool compresses() const { return options_.compress && !options_.choose; }

  const CollectorOptions& options_;
  std::vector<std::string> paths_;
};

// Passes sorted records to a writer, and combines the values of equal keys when there is a combiner.
class CombiningWriter {
 public:
  CombiningWriter(run::RunWriter* writer, RunCombiner* combiner) : writer_(writer), combiner_(combiner) {}

  // Adds a record. `key_stays` says that the key's bytes live until EndPartition; otherwise they are copied where
  // needed.
  [[nodiscard]] Status Add(std::string_view key, std::string_view value, bool key_stays);
  // Writes the record that is being combined. Requires: this is called before the writer's EndPartition.
  [[nodiscard]] Status EndPartition();
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  run::RunWriter* writer_;
  RunCombiner* combiner_;
  bool open_ = false;  // key_ is being combined
  std::string_view key_;
  std::string copy_;
  std::uint64_t records_ = 0;
};

}  // namespace millrace::map
