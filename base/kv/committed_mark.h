// SPDX-License-Identifier: Apache-2.0
// CommittedMark: a small file beside a database that holds the number of the last acknowledged operation, so that a
// database whose log was cut or lost, or an older copy of it, is not mistaken for a complete one.
//
// The mark is raised after each sync of the database and never before, so that it never claims more than the disk
// holds. The mark itself is synced at most once in kSyncEvery; the last raises reach the disk by the kernel's writeback
// (half a minute). The mark may lag by half a minute after a power loss, but not after the process alone died. Two
// slots with checksums are written in turn, so a torn write leaves one intact. Thread rule: one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace millrace {

class CommittedMark {
 public:
  static constexpr std::chrono::seconds kSyncEvery{1};

  // Makes a mark at `number`, in place of any earlier one. The mark is on disk when this returns.
  static Status Make(const std::string& path, std::uint64_t number);
  // Returns kNotFound if there is no mark, and kCorrupt if neither slot makes sense.
  static Result<CommittedMark> Open(const std::string& path);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  // Raises the mark to at least `number`.
  Status Raise(std::uint64_t number);
  Status Sync();

 private:
  CommittedMark(std::string path, Fd fd, std::uint64_t number, int next_slot)
      : path_(std::move(path)), fd_(std::move(fd)), number_(number), next_slot_(next_slot) {}

  std::string path_;
  Fd fd_;
  std::uint64_t number_;
  int next_slot_;
  std::chrono::steady_clock::time_point synced_{};
};

}  // namespace millrace
