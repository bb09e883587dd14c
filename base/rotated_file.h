// RotatedFile: a file of lines that is put aside when it is full, as "x.log" to "x.1.log" and that to "x.2.log". Each
// line is written at once and as a whole, or not at all: a full disk leaves no half of one, and the next line may find
// room again. Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/status.h"

namespace millrace {

class RotatedFile {
 public:
  // A file of `most_bytes` is put aside, and `old_files` of them are kept.
  RotatedFile(std::string path, std::uint64_t most_bytes, std::int64_t old_files)
      : path_(std::move(path)), most_bytes_(most_bytes), old_files_(old_files) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  // Opens the file, or makes it, for its owner and group alone. Lines go to its end.
  [[nodiscard]] Status Open();
  // Appends the line, which ends with a line break. After a failure nothing of it is there. If the file is not open,
  // it is tried again first.
  [[nodiscard]] Status Append(std::string_view line);
  // Returns why a full file could not be put aside; OK if it could. Until then lines go on being appended to it.
  [[nodiscard]] const Status& rotation() const { return rotation_; }
  // Returns the name of the nth file that was put aside, from 1.
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
