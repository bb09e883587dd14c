// A local file or directory that is written aside and takes its name when it is whole; destroyed before, it goes away.
// Thread rule: one thread at a time.
#pragma once

#include <string>
#include <utility>

#include "base/file.h"
#include "base/status.h"

namespace millrace::dfs {

class AsideFile {
 public:
  // An empty file in the directory of `path`, with the mode that a new file gets.
  static Result<AsideFile> Make(const std::string& path);
  AsideFile(AsideFile&& other) noexcept
      : fd_(std::move(other.fd_)), aside_(std::exchange(other.aside_, {})), path_(std::move(other.path_)) {}
  ~AsideFile();
  [[nodiscard]] int fd() const { return fd_.get(); }
  // kExists, naming it, when something has the name already and not `overwrite`.
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
  Status Commit();  // kExists

 private:
  AsideDirectory() = default;
  std::string aside_, path_;
};

}  // namespace millrace::dfs
