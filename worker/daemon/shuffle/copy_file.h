// SPDX-License-Identifier: Apache-2.0
// CopyFile is the file into which a reduce's segments are copied, many at once, each at a place of its own. The first
// write creates the file and replaces anything at its path, so that no task can redirect the file elsewhere. Thread
// rule: any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "worker/sandbox/task_directories.h"

namespace millrace::shuffle {

class CopyFile {
 public:
  struct Extent {
    std::uint64_t offset = 0, length = 0;
  };
  // Requires: `directories` outlives this; the path lies in one of them.
  CopyFile(const sandbox::TaskDirectories& directories, std::string path)
      : directories_(directories), path_(std::move(path)) {}

  // Returns room for `length` bytes, without writing. Room for 0 bytes is at offset 0, which every file has.
  [[nodiscard]] Extent Reserve(std::uint64_t length);
  // Gives room that is not needed after all back to the file, for the next Reserve.
  void Release(const Extent& extent);
  // Writes through the page cache. The first write replaces an existing file, even if `data` is empty.
  [[nodiscard]] Status Write(std::string_view data, std::uint64_t offset);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Result<int> Open();

  const sandbox::TaskDirectories& directories_;
  const std::string path_;
  std::mutex mutex_;
  Fd file_;
  std::uint64_t end_ = 0;
  std::vector<Extent> free_;
};

}  // namespace millrace::shuffle
