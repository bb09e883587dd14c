// StagedFile and StagedDirectory: what is written beside its place and takes its name when it is whole. If the object
// is destroyed before that, the file or directory is removed. Thread rule: one thread at a time.
#pragma once

#include <string>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace millrace::dfs {

class StagedFile {
 public:
  // Makes an empty file in the directory of `path`, with the mode that a new file gets.
  static Result<StagedFile> Make(const std::string& path);
  StagedFile(StagedFile&& other) noexcept
      : fd_(std::move(other.fd_)), staged_(std::exchange(other.staged_, {})), path_(std::move(other.path_)) {}
  ~StagedFile();
  [[nodiscard]] int fd() const { return fd_.get(); }
  // Gives the file its name. Returns kExists, naming the path, if something has the name already and not `overwrite`.
  Status Commit(bool overwrite);

 private:
  StagedFile() = default;
  Fd fd_;
  std::string staged_, path_;
};

class StagedDirectory {
 public:
  static Result<StagedDirectory> Make(const std::string& path);
  StagedDirectory(StagedDirectory&& other) noexcept
      : staged_(std::exchange(other.staged_, {})), path_(std::move(other.path_)) {}
  ~StagedDirectory();
  [[nodiscard]] const std::string& path() const { return staged_; }
  Status Commit();  // kExists if something has the name already

 private:
  StagedDirectory() = default;
  std::string staged_, path_;
};

}  // namespace millrace::dfs
