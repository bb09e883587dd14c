// SPDX-License-Identifier: Apache-2.0
// The directories of a worker's blocks (worker.block_directories), each on a disk of its own. Each except the worker's
// own directory contains a mark, `<path>/block_directory`, with the worker's storage id and an id of the block
// directory. The worker's own directory lists these ids and their paths in its file `block_directories` (lines of "<id>
// <path>"). So a directory of another worker is refused, and so is the empty mount point of a disk that is not mounted.
// Thread rule: one thread, at the start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"

namespace millrace::worker {

// Returns the paths, split at commas, without surrounding spaces and trailing slashes; kInvalid if a path is empty or
// not absolute.
[[nodiscard]] Result<std::vector<std::string>> SplitDirectories(std::string_view list);

// Returns the directories of `list` in its order; `directory` alone if the list is empty. A directory that is new and
// empty is adopted and marked. Returns kInvalid, kNotFound or kCorrupt if a directory cannot be used, and says which
// one, why, and what to do. The reasons are that the directory does not exist, lacks its mark, is new but not empty,
// belongs to another worker, or is listed twice; or that blocks lie in `directory`, which is not in the list. Only
// marks are written. Requires: the caller holds `directory` (StorageLock), and `storage` is its id.
[[nodiscard]] Result<std::vector<std::string>> AdoptBlockDirectories(const std::string& directory,
                                                                     const std::string& storage, std::string_view list,
                                                                     Random& random);

}  // namespace millrace::worker
