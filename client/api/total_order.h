// TotalOrder: what a job names as `using Partition = millrace::TotalOrder` to have its output in order over all
// reduces: every key of part-r-00000 is below every key of part-r-00001, and so on. The ranges of keys are chosen so
// that the reduces get about as many records each: before the job is submitted its Map is run over a sample of the
// input (client/job/key_sample.h). A key goes to one reduce as a whole, so one that a share of the records has is a
// reduce's alone; with fewer keys than reduces the last parts are empty. A job with a Group (group.h) cannot have it:
// ranges of whole keys would cut a group in two.
//   -D order.sample=8MiB   how much of the input is looked at
//   -D order.cuts=g,n,t    where the ranges begin but for the first, if no sample is to be taken
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "client/job/job_options.h"
#include "client/job/key_ranges.h"

namespace millrace {

struct TotalOrder {
  static void Declare(JobOptions& options);
  // Returns the ranges that the options say; kInvalid if they are more than `reduces`.
  [[nodiscard]] static Result<KeyRanges> Ranges(const JobOptions& options, std::uint32_t reduces);
};

}  // namespace millrace
