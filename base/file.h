// SPDX-License-Identifier: Apache-2.0
// Files: owned descriptors, whole reads and writes, mappings, temporary directories. Every failure names the path.
// Thread rule: one object from one thread at a time; the free functions from any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace millrace {

// A file descriptor with one owner, which closes it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { Close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }
  void Close();

 private:
  int fd_ = -1;
};

// Opens a file. `flags` and `mode` are those of open(2); O_CLOEXEC is added.
[[nodiscard]] Result<Fd> OpenFile(const std::string& path, int flags, int mode = 0644);
[[nodiscard]] Result<std::uint64_t> FileSize(int fd, std::string_view path);

// Writes all of `data`: short writes and signals do not stop it. Here and below, `path` is for the message only.
[[nodiscard]] Status WriteAll(int fd, std::string_view data, std::string_view path);
[[nodiscard]] Status WriteAllAt(int fd, std::string_view data, std::uint64_t offset, std::string_view path);
// Reads exactly `size` bytes into `out`. Returns kCorrupt if the file ends earlier.
[[nodiscard]] Status ReadExactlyAt(int fd, char* out, std::size_t size, std::uint64_t offset, std::string_view path);

[[nodiscard]] Result<std::string> ReadWholeFile(const std::string& path);
// Writes the data to a file beside `path`, syncs it, renames it over `path` and syncs the directory: after a crash
// either the old file or the new one exists.
[[nodiscard]] Status WriteFileDurably(const std::string& path, std::string_view data);
[[nodiscard]] Status SyncDirectory(const std::string& directory);
// Syncs a directory and every file below it. Requires: the tree has only regular files and directories.
[[nodiscard]] Status SyncTree(const std::string& directory);
// Syncs the bytes of an open file and the metadata needed to read them (fdatasync). After a failure the state of the
// disk is unknown, and another sync of the same file would not reveal it: write the data again, to another file.
[[nodiscard]] Status SyncData(int fd, std::string_view path);
// Closes the file. On some file systems a failed write is reported only here.
[[nodiscard]] Status CloseFile(Fd fd, std::string_view path);
[[nodiscard]] Status RenameFile(const std::string& from, const std::string& to);

// Makes the directory and its parents, as `mkdir -p` does. An existing directory is not a failure.
[[nodiscard]] Status MakeDirectories(const std::string& path);
// Removes the path and all below it (base/remove_tree.h). A path that does not exist is not a failure.
[[nodiscard]] Status RemoveTree(const std::string& path);
// Returns the path from the root, without "." and "..". Fails if the path is relative to a working directory that no
// longer exists.
[[nodiscard]] Result<std::string> AbsolutePath(const std::string& path);
// Returns the names in a directory, sorted, without . and ..
[[nodiscard]] Result<std::vector<std::string>> ListDirectory(const std::string& path);

// A range of a file's bytes, mapped for reading. The range may be empty.
class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        mapped_(other.mapped_),
        skip_(other.skip_),
        size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Maps [offset, offset + size) of `fd`, which may be closed afterwards. Returns kCorrupt if the file is shorter.
  static Result<MappedFile> Map(int fd, std::uint64_t offset, std::uint64_t size, std::string_view path);
  [[nodiscard]] std::string_view bytes() const { return {base_ + skip_, size_}; }
  // Reads from the disk those of the bytes [at, at + size) of bytes() that are not in memory. Returns kIo if the disk
  // cannot read them; without this call, the first access would raise SIGBUS. Does nothing on kernels before Linux
  // 5.14.
  [[nodiscard]] Status Fetch(std::size_t at, std::size_t size, std::string_view path) const;

 private:
  char* base_ = nullptr;    // page aligned
  std::size_t mapped_ = 0;  // size of the mapping, from base_
  std::size_t skip_ = 0;    // from base_ to the first byte asked for
  std::size_t size_ = 0;
};

// A new directory under $TMPDIR (/tmp by default). The destructor removes the directory with its contents.
class TempDir {
 public:
  [[nodiscard]] static Result<TempDir> Make(std::string_view name_prefix);
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string Keep() { return std::exchange(path_, {}); }  // the destructor then leaves the directory

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace millrace
