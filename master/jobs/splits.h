// SPDX-License-Identifier: Apache-2.0
// Makes the splits of map tasks from the inputs that a user names. Pure.
//
// An input is a file, a directory (every file below it), or a pattern (dfs/wire/pattern.h). As in Hadoop, files and
// directories whose names begin with '_' or '.' are marks and logs: they are left out of a directory, and they match
// only a pattern that begins with the same character. A file named twice is read twice. All inputs are looked up and
// read on behalf of one principal, which must have the right to read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dfs/name/namespace.h"
#include "master/jobs/job_record.h"

namespace millrace::master {

// The rules for cutting files. With `decompresses`, files whose names say that they are compressed have one split.
struct Cutting {
  InputCut all;
  std::vector<InputCut> inputs = {};    // one for each input, in place of `all`; empty: `all` applies to each
  std::vector<std::string> uncut = {};  // canonical paths of further files that have one split
  [[nodiscard]] const InputCut& Of(std::size_t input) const { return inputs.empty() ? all : inputs[input]; }
};

// Returns the splits of the inputs. Returns kNotFound, naming the input, if an input does not exist or a pattern
// matches nothing; returns kDenied, naming the path, if `reader` may not read, list or traverse one. Requires:
// cutting.inputs is empty or contains an entry for each input.
[[nodiscard]] Result<std::vector<Split>> ComputeSplits(const dfs::Namespace& names,
                                                       const std::vector<std::string>& inputs, Cutting cutting,
                                                       const dfs::Principal& reader = dfs::Everybody());

// Splits the numbers below `records` into splits whose lengths differ by one at most. Requires: maps > 0.
[[nodiscard]] std::vector<Split> NumberSplits(std::uint32_t maps, std::uint64_t records);

}  // namespace millrace::master
