// Makes the splits of map tasks from the inputs that a user names. Pure.
//
// An input is a file, a directory (every file below it), or a pattern (dfs/wire/pattern.h). As in Hadoop, files and
// directories whose names begin with '_' or '.' are marks and logs: a directory leaves them out, and they match only a
// pattern that begins with the same character. A file named twice is read twice. All inputs are looked up and read for
// one principal, which must have the right to do so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dfs/name/namespace.h"
#include "master/jobs/job_record.h"

namespace millrace::master {

// How files are cut. With `decompresses`, files whose names say that they are compressed have one split.
struct Cutting {
  InputCut all;
  std::vector<InputCut> inputs = {};    // for each input, in place of `all`; empty: `all` holds for each
  std::vector<std::string> uncut = {};  // canonical paths of further files that have one split
  [[nodiscard]] const InputCut& Of(std::size_t input) const { return inputs.empty() ? all : inputs[input]; }
};

// Returns the splits of the inputs. Requires: cutting.inputs is empty or has one for each. kNotFound names the input
// that does not exist or the pattern that matches nothing; kDenied the path that `reader` may not read, list or
// traverse.
[[nodiscard]] Result<std::vector<Split>> ComputeSplits(const dfs::Namespace& names,
                                                       const std::vector<std::string>& inputs, Cutting cutting,
                                                       const dfs::Principal& reader = dfs::Everybody());

// Returns splits of the numbers below `records`, whose lengths differ by one at most. Requires: maps > 0.
[[nodiscard]] std::vector<Split> NumberSplits(std::uint32_t maps, std::uint64_t records);

}  // namespace millrace::master
