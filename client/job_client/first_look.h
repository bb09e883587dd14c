// SPDX-License-Identifier: Apache-2.0
// Looks at the first bytes of a job's input files before the job is submitted, since the master does not look into
// files. LookIntoInput finds compressed files that must not be cut although their names do not say so
// (client/format/compression.h), and, for a job that reads text, files that are not text (client/format/text_check.h).
// Thread rule: any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "dfs/client/dfs_client.h"

namespace millrace::job {

// An INPUT whose compressed files are opened.
struct OpenedInput {
  std::string path;
  bool text = false;  // its readers expect text
};

// The most files that are looked at only because they should be text.
inline constexpr std::size_t kMostTextLooks = 32;

// Returns the paths of the compressed files that a master would cut, in the order of the inputs. Looks at all files
// that are longer than a block, since shorter ones have one split. Returns kUnsupported if a file should be text and is
// known not to be. For this it looks at kMostTextLooks other files from all over the input, too; a task that reads one
// of the rest will report it. A file that cannot be read passes, since its maps will report why. Fails if an input
// cannot be listed, and with kInvalid if there are too many compressed files for one request.
[[nodiscard]] Result<std::vector<std::string>> LookIntoInput(dfs::DfsClient& files,
                                                             const std::vector<OpenedInput>& inputs);

inline constexpr std::size_t kSampleBytes = 16 << 10;  // the most that the master looks at

// Returns the beginning of a job's input, by which the master recognises the input's type
// (schedulers/history/input_type.h); the type is one half of the key under which the history of programs is kept. These
// are the first bytes, at most kSampleBytes, of the first input file that can be read and is not empty. The inputs
// are searched in the order given, and the files within each in order of names. Returns an empty text if there is no
// such file, since a job can run without a sample.
[[nodiscard]] std::string SampleInput(dfs::DfsClient& files, const std::vector<std::string>& inputs);

}  // namespace millrace::job
