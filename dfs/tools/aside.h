// A local file or directory that is written beside its place and takes its name when it is whole. If it is destroyed
// before that, it is removed. Thread rule: one thread at a time.
#pragma once

#include <string>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace millrace::dfs {

class AsideFile {
 public:
  // Makes an empty file in the directory of `path`, with the mode that a new file gets.
  static Result<AsideFile> Make(const std::string& path);
  AsideFile(AsideFile&& other) noexcept
      : fd_(std::move(other.fd_)), aside_(std::exchange(other.aside_, {})), path_(std::move(other.path_)) {}
  ~AsideFile();
  [[nodiscard]] int fd() const { return fd_.get(); }
  // Gives the file its name. Returns kExists, naming the path, if something has the name already and not `overwrite`.
  Status Commit(bool overwrite);

 private:
  AsideFile() = default;
  Fd fd_;
  std::string aside_, path_;
};

class AsideDirectory {
 public:
  static Result<AsideDirectory> Make(const std::string& path);
  AsideDirectory(AsideDirectory&& other) noexcept
      : aside_(std::exchange(other.aside_, {})), path_(std::move(other.path_)) {}
  ~AsideDirectory();
  [[nodiscard]] const std::string& path() const { return aside_; }
  Status Commit();  // kExists if something has the name already

 private:
  AsideDirectory() = default;
  std::string aside_, path_;
};

}  // namespace millrace::dfs
