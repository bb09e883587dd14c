// The status of a file or directory, for the name service and its clients alike. Thread rule: values.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids/time.h"
#include "dfs/wire/mode.h"

namespace millrace::dfs {

using FileId = std::uint64_t;  // never used twice

struct FileStatus {
  std::string path;
  bool directory = false;
  std::uint64_t length = 0;
  std::uint32_t replication = 0;
  std::uint64_t block_size = 0;
  Micros modified = 0;
  std::string owner;
  std::string group = {};  // empty: none
  Mode mode = 0;
  FileId id = 0;  // the id of a file; 0 for a directory
  bool operator==(const FileStatus&) const = default;
};

}  // namespace millrace::dfs
