// CommittedMark: a small file beside a database that says up to which operation it was acknowledged, so that a log that
// was cut or lost, or an older copy of the database, does not pass for the whole.
//
// Raised after each sync of the database and never before, so that it never claims more than what is on disk. It is
// itself brought to the disk at most once in kSyncEvery, and by the kernel's writeback when nothing is written any more
// (half a minute): so much may it be behind after the machine lost its power, and nothing after the process died. Two
// slots are written in turn, each with a checksum; a torn one leaves the other. Thread rule: one thread at a time.
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

  // A mark at `number`, durable when this returns, in place of what is there.
  static Status Make(const std::string& path, std::uint64_t number);
  // kNotFound; kCorrupt when neither slot makes sense.
  static Result<CommittedMark> Open(const std::string& path);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  // To at least `number`.
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
