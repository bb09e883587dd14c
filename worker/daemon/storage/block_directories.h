// The directories where a worker's blocks lie (worker.block_directories), each on a disk of its own. Each but the
// worker's own carries a mark, `<path>/block_directory`: the worker's storage id and an id of its own; the worker's
// directory remembers both in its file `block_directories` (lines of "<id> <path>"). So a directory of another worker
// is refused, and so is the empty mount point of a disk that is not mounted. Thread rule: one thread, at the start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"

namespace millrace::worker {

// Returns the paths, cut at commas, without spaces around and without slashes at the end. kInvalid when a path is empty
// or not absolute.
[[nodiscard]] Result<std::vector<std::string>> SplitDirectories(std::string_view list);

// Returns the directories of `list` in its order; `directory` alone when the list is empty. A directory that is new,
// and empty, is adopted and marked. Otherwise kInvalid, kNotFound or kCorrupt says which directory is not to be used,
// and what to do: it is not there, without its mark, not empty, another worker's, or there twice; or blocks lie in
// `directory`, which is not in the list. Nothing but marks is written. Requires: `directory` is held, and `storage` is
// its id.
[[nodiscard]] Result<std::vector<std::string>> AdoptBlockDirectories(const std::string& directory,
                                                                     const std::string& storage, std::string_view list,
                                                                     Random& random);

}  // namespace millrace::worker
