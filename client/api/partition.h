// SPDX-License-Identifier: Apache-2.0
// HashPartition chooses the reduce of a key in a job without a Partition of its own. A job that sends keys to reduces
// by a part of the key passes that part to it:
//   static std::uint32_t Partition(const std::string_view& key, std::uint32_t partitions) {
//     return millrace::HashPartition(key.substr(0, key.find('\t')), partitions);
//   }
// TotalOrder is the other choice. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "client/job/job_options.h"
#include "client/job/key_ranges.h"
#include "worker/task/collect/partition.h"

namespace millrace {

// Returns a number below `partitions` that depends on the bytes alone, the same on every machine and in every version.
[[nodiscard]] inline std::uint32_t HashPartition(std::string_view key, std::uint32_t partitions) {
  return map::PartitionOf(map::HashKey(key), partitions);
}

// TotalOrder keeps the output of a job in order over all reduces: every key of part-r-00000 is below every key of
// part-r-00001, and so on. A job names it as `using Partition = millrace::TotalOrder`. The ranges of keys are chosen so
// that each reduce gets about the same number of records. For this, the job's Map is run over a sample of the input
// before the job is submitted (client/job/key_sample.h). All records of a key go to one reduce, so a key with a
// reduce's share of the records gets a reduce to itself. With fewer keys than reduces, the last parts are empty. A job
// with a Group (group.h) cannot use TotalOrder: ranges of whole keys would cut a group in two.
//   -D order.sample=8MiB   the amount of input to sample
//   -D order.cuts=g,n,t    the keys with which the ranges after the first begin; no sample is then taken
// Thread rule: any thread.
struct TotalOrder {
  static void Declare(JobOptions& options);
  // Returns the ranges that the options set. Returns kInvalid if there are more than `reduces`.
  [[nodiscard]] static Result<KeyRanges> Ranges(const JobOptions& options, std::uint32_t reduces);
};

}  // namespace millrace
