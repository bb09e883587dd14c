// CopyFile: the file into which a reduce's segments are copied, many at once, each at a place of its own. Created by
// the first write. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::shuffle {

class CopyFile {
 public:
  struct Extent {
    std::uint64_t offset = 0, length = 0;
  };
  explicit CopyFile(std::string path) : path_(std::move(path)) {}

  // Room for `length` bytes; nothing is written. No bytes have their place at 0, which every file has.
  [[nodiscard]] Extent Reserve(std::uint64_t length);
  // Room that is not needed after all, for the next.
  void Release(const Extent& extent);
  // Through the page cache. A file that exists is replaced by the first write, also by one of no bytes.
  [[nodiscard]] Status Write(std::string_view data, std::uint64_t offset);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Result<int> Open();

  const std::string path_;
  std::mutex mutex_;
  Fd file_;
  std::uint64_t end_ = 0;
  std::vector<Extent> free_;
};

}  // namespace millrace::shuffle
