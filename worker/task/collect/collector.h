// SPDX-License-Identifier: Apache-2.0
// Collectors take the records that Map emits and write one run file (worker/task/run/run_file.h), with a sorted segment
// for each reduce. Memory is bounded: when the buffers are full, their records are sorted and spilled to a run in the
// scratch directory; Finish merges the spills. Keys and values are bytes here (the codecs are in client/api); a record
// may be larger than the whole buffer.
//
// SortCollector has a byte arena of encoded records and an index of (partition, key prefix, offset), sorted by
// partition and then key bytes; equal keys keep the order of emission. As long as the keys of each partition come in
// order, there is no index and nothing is sorted. CombineCollector<Value> is for jobs with an associative Combine over
// a trivially copyable Value. An open-addressing table (hash, key in an arena, accumulator in the entry) folds values
// as they are emitted, without an allocation or a virtual call for each record. When the table is full, or when
// combining does not pay, its content is spilled as a sorted run with encoded values (combine_collector.h). The run
// file of a CombineCollector need not be sorted. Thread rule: one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::map {

struct CollectorOptions {
  std::uint32_t partitions = 1;
  std::uint64_t memory = std::uint64_t{128} << 20;  // bytes for the buffers
  std::string run_file;                             // the result
  std::string scratch;                              // an existing directory for spills
  bool compress = false;                            // compresses the run and the spills with zstd level 1
  // If given, this function decides, in place of `compress`, whether to compress a run of about `expected_bytes` raw
  // bytes with these first records. Spills, which the collector itself reads back, are then not compressed.
  std::function<bool(std::string_view first_records, std::uint64_t expected_bytes)> choose = {};
  // The next three are for CombineCollector only.
  bool any_order = false;           // the reader of the run takes its records in any order
  std::uint64_t expected_keys = 0;  // the approximate number of different keys to come; 0: not known
  bool from_runs = false;           // the emitted records come from runs in any order
  // For both collectors. If given, it is set to the number of records emitted so far, about as often as records come.
  std::atomic<std::uint64_t>* emitted = nullptr;
};

struct CollectorFigures {
  std::uint64_t records = 0, bytes = 0;  // emitted (key and value bytes)
  std::uint64_t spills = 0, spilled_records = 0;
  std::uint64_t output_records = 0, output_bytes = 0;  // in the run file; bytes as stored
};

// Combines values of equal keys when spills are merged and before a sorted run is written. Without a combiner all
// records are kept.
class RunCombiner {
 public:
  virtual ~RunCombiner() = default;
  // Begin takes the first value of a key, and each Add a further one. End returns the bytes of the combined value,
  // which live until the next Begin.
  virtual void Begin(std::string_view first_value) = 0;
  virtual void Add(std::string_view value) = 0;
  virtual std::string_view End() = 0;
};

class SortCollector {
 public:
  // Requires: `combiner`, which may be null, outlives this.
  SortCollector(CollectorOptions options, RunCombiner* combiner);
  ~SortCollector();

  // Emits a record. If a spill fails, later calls of Emit do nothing, and Finish returns the failure.
  void Emit(std::uint32_t partition, std::string_view key, std::string_view value);
  Status Finish();
  [[nodiscard]] CollectorFigures figures() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::map
