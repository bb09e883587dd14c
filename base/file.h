// Files: owned descriptors, whole reads and writes, mappings, temporary directories. Everything says which path failed.
// Thread rule: one object from one thread at a time; ReadAt and the free functions from any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace millrace {

// A descriptor that is closed once.
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

// open(2) with O_CLOEXEC; `flags` and `mode` as there.
[[nodiscard]] Result<Fd> OpenFile(const std::string& path, int flags, int mode = 0644);
[[nodiscard]] Result<std::uint64_t> FileSize(int fd, std::string_view path);

// All of `data`, in spite of short writes and signals. `path` is for the message only.
[[nodiscard]] Status WriteAll(int fd, std::string_view data, std::string_view path);
[[nodiscard]] Status WriteAllAt(int fd, std::string_view data, std::uint64_t offset, std::string_view path);
// Exactly size bytes into out; kCorrupt when the file ends before.
[[nodiscard]] Status ReadExactlyAt(int fd, char* out, std::size_t size, std::uint64_t offset, std::string_view path);

[[nodiscard]] Result<std::string> ReadWholeFile(const std::string& path);
// Written aside, synced, renamed over `path`, directory synced: after a crash there is the old file or the new one.
[[nodiscard]] Status WriteFileDurably(const std::string& path, std::string_view data);
[[nodiscard]] Status SyncDirectory(const std::string& directory);

// mkdir -p; an existing directory is fine.
[[nodiscard]] Status MakeDirectories(const std::string& path);
// rm -rf; a path that does not exist is fine.
[[nodiscard]] Status RemoveTree(const std::string& path);
// Names in a directory, sorted, without . and ..
[[nodiscard]] Result<std::vector<std::string>> ListDirectory(const std::string& path);

// Bytes of a file, mapped for reading. An empty range is allowed.
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

  // [offset, offset + size) of fd, which may be closed afterwards. kCorrupt if the file is shorter.
  static Result<MappedFile> Map(int fd, std::uint64_t offset, std::uint64_t size, std::string_view path);
  [[nodiscard]] std::string_view bytes() const { return {base_ + skip_, size_}; }

 private:
  char* base_ = nullptr;    // page aligned
  std::size_t mapped_ = 0;  // what was mapped, from base_
  std::size_t skip_ = 0;    // from base_ to the first byte asked for
  std::size_t size_ = 0;
};

// A directory of its own under $TMPDIR (default /tmp), removed with all that is in it.
class TempDir {
 public:
  [[nodiscard]] static Result<TempDir> Make(std::string_view name_prefix);
  TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TempDir& operator=(TempDir&&) = delete;
  ~TempDir();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string Keep() { return std::exchange(path_, {}); }  // it is not removed any more

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace millrace
