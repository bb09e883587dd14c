// SPDX-License-Identifier: Apache-2.0
// SideFiles are the files that a job reads besides its input. Small files are read. Large ones are mapped; if such a
// file does not lie on this machine already, it is copied there once for all tasks of the job that run on the machine.
//
// The copy of /a/b is DIRECTORY/+a/+b/bytes. The first process that needs it locks DIRECTORY/lock (by flock, which ends
// with the process), writes the file `part` beside the copy's place and renames it; the others wait. The bytes are
// checked against the file system's checksums as they arrive. The owner of the directory removes it.
// Thread rule: one thread; other processes may use the same directory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "client/job/counters.h"
#include "client/job/input_files.h"

namespace millrace {

// The place of copies.
struct SideFileSpace {
  std::string directory;                                    // made when it is needed
  std::uint64_t most_bytes = std::uint64_t{1} << 62;        // of all copies in it
  std::uint64_t reserved_bytes = std::uint64_t{256} << 20;  // bytes that stay free on the disk of `directory`
};

class SideFiles {
 public:
  static constexpr std::uint64_t kMostRead = std::uint64_t{1} << 30;

  // Requires: `files` outlives this.
  SideFiles(InputFiles& files, SideFileSpace space) : files_(files), space_(std::move(space)) {}

  // Returns the bytes of a file, or of all files that InputFiles::List gives for `path`, one after the other. Returns
  // kInvalid if there are more than `most` bytes.
  [[nodiscard]] Result<std::string> Read(const std::string& path, std::uint64_t most = kMostRead);
  // Counters that Map raises while it copies or waits, so that its task is seen to make progress.
  struct Counts {
    Counter* copied_bytes = nullptr;
    Counter* waited_micros = nullptr;  // for another task's copy
  };
  // Returns the bytes that Read would return, mapped for reading; they live as long as this. Returns kNoSpace if a copy
  // does not fit.
  [[nodiscard]] Result<std::string_view> Map(const std::string& path, Counts counts);
  [[nodiscard]] Result<std::string_view> Map(const std::string& path) { return Map(path, Counts()); }
  // The directory of the copies, which is shared by the job's tasks on this machine and may not exist yet.
  [[nodiscard]] const std::string& directory() const { return space_.directory; }

 private:
  [[nodiscard]] Result<MappedFile> Open(const std::string& path, Counts counts);
  [[nodiscard]] Result<MappedFile> Fetch(const std::string& path, const std::vector<InputFile>& files,
                                         std::uint64_t length, Counts counts);

  InputFiles& files_;
  const SideFileSpace space_;
  std::map<std::string, MappedFile> mapped_;  // a std::map's nodes do not move
};

}  // namespace millrace
