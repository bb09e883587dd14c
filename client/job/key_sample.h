// SPDX-License-Identifier: Apache-2.0
// Samples the keys that a job's maps will emit, and sets the cuts between the ranges of its reduces (partition.h of
// client/api). The job's own Map is run over pieces of the input, as it will be run over splits. So the keys are those
// that go to reduces, whatever Map makes of records, and a combined key counts as often as maps emit it.
//
// The pieces lie evenly in the input, and each is kSamplePiece bytes long, or ends with the first record that is
// longer. An input that is no longer than the sample is read as a whole. A compressed file can only be read from its
// start, so its beginning stands for the whole file. The same input and options give the same cuts.
//
// Pieces at which Map fails are left out. If Map fails at all pieces, that is a failure, unless the job may leave out
// bad records or failed maps.
// Thread rule: the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/job/attempt.h"
#include "client/job/key_ranges.h"
#include "client/job/preparation.h"
#include "client/job/side_files.h"

namespace millrace {

inline constexpr std::uint64_t kSamplePiece = std::uint64_t{16} << 10;  // bytes
inline constexpr std::uint64_t kSampleNumbers = 160;                    // a piece, of an input of numbers

// Options of a job whose keys are in order over all reduces.
inline constexpr const char* kCutsOption = "order.cuts";
inline constexpr const char* kSampleOption = "order.sample";

// Returns keys, each weighted by the number of records of the whole input for which it stands. `scratch` is an existing
// directory.
[[nodiscard]] Result<std::vector<WeighedKey>> SampleKeys(const JobBinding& binding, Preparation& job,
                                                         SideFiles& side_files, const std::string& scratch);

// Sets kCutsOption from such a sample, unless the option was given or there are fewer than two reduces.
[[nodiscard]] Status PrepareCuts(const JobBinding& binding, Preparation& job, SideFiles& side_files,
                                 const std::string& scratch);

}  // namespace millrace
