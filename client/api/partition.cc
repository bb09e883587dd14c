// SPDX-License-Identifier: Apache-2.0
#include "client/api/partition.h"

#include "client/job/key_sample.h"

namespace millrace {

void TotalOrder::Declare(JobOptions& options) {
  options.Text(kCutsOption, "",
               "the first key of each reduce but the first, such as g,n,t; chosen from a sample if not given");
  options.Bytes(
      kSampleOption, 0, 0, std::uint64_t{1} << 40,
      "size of the sample of the input; 0: 128 KiB for each reduce, at least 1 MiB, and more if Map gives few "
      "keys");
  options.Check([](const JobOptions& set) { return ParseCuts(set.text(kCutsOption)).status(); });
}

Result<KeyRanges> TotalOrder::Ranges(const JobOptions& options, std::uint32_t reduces) {
  MILLRACE_ASSIGN(std::vector<std::string> cuts, ParseCuts(options.text(kCutsOption)));
  KeyRanges ranges(std::move(cuts));
  if (ranges.ranges() <= reduces) return ranges;
  return Invalid(std::string(kCutsOption) + " makes " + std::to_string(ranges.ranges()) + " ranges for " +
                 std::to_string(reduces) + " reduces");
}

}  // namespace millrace
