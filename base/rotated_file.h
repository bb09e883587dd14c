// SPDX-License-Identifier: Apache-2.0
// RotatedFile: a file of lines that is renamed when it is full: "x.log" to "x.1.log", and "x.1.log" to "x.2.log". Each
// line is written at once, whole or not at all: a full disk leaves no partial line, and the next line may find room
// again. Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"

namespace millrace {

class RotatedFile {
 public:
  // A file of `most_bytes` is put aside; the last `old_files` files put aside are kept.
  RotatedFile(std::string path, std::uint64_t most_bytes, std::int64_t old_files)
      : path_(std::move(path)), most_bytes_(most_bytes), old_files_(old_files) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  // Opens the file for appending. A new one is readable by its owner and group alone.
  [[nodiscard]] Status Open();
  // Appends the line, which ends with a line break. After a failure, no part of the line is in the file. If the file is
  // not open, opens it first.
  [[nodiscard]] Status Append(std::string_view line);
  // Returns OK, or the reason why a full file could not be put aside. As long as that fails, lines are still appended
  // to the full file.
  [[nodiscard]] const Status& rotation() const { return rotation_; }
  // Returns the name of the nth file put aside; the latest is number 1.
  [[nodiscard]] std::string OldPath(std::int64_t n) const;

 private:
  [[nodiscard]] Status Rotate();

  const std::string path_;
  const std::uint64_t most_bytes_;
  const std::int64_t old_files_;
  Fd fd_;
  std::uint64_t size_ = 0;
  Status rotation_;
};

}  // namespace millrace
