// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/remove_tree.h"
#include "base/text.h"

namespace millrace {
namespace fs = std::filesystem;

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::Close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Fd> OpenFile(const std::string& path, int flags, int mode) {
  while (true) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0) return Fd(fd);
    if (errno != EINTR) return FromErrno(errno, "open " + path);
  }
}

Result<std::uint64_t> FileSize(int fd, std::string_view path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return FromErrno(errno, "stat " + std::string(path));
  return static_cast<std::uint64_t>(info.st_size);
}

Status WriteAll(int fd, std::string_view data, std::string_view path) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno(errno, "write " + std::string(path));
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return Status::Ok();
}

Status WriteAllAt(int fd, std::string_view data, std::uint64_t offset, std::string_view path) {
  while (!data.empty()) {
    const ssize_t n = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno(errno, "write " + std::string(path));
    data.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return Status::Ok();
}

Status ReadExactlyAt(int fd, char* out, std::size_t size, std::uint64_t offset, std::string_view path) {
  while (size > 0) {
    const ssize_t n = ::pread(fd, out, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno(errno, "read " + std::string(path));
    if (n == 0)
      return Corrupt("read " + std::string(path) + ": ends at byte " + std::to_string(offset) + ", " +
                     std::to_string(size) + " bytes too early");
    out += n;
    size -= static_cast<std::size_t>(n);
    offset += static_cast<std::uint64_t>(n);
  }
  return Status::Ok();
}

Result<std::string> ReadWholeFile(const std::string& path) {
  MILLRACE_ASSIGN(const Fd fd, OpenFile(path, O_RDONLY));
  std::string data;
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FromErrno(errno, "read " + path);
    if (n == 0) return data;
    data.append(buffer, static_cast<std::size_t>(n));
  }
}

Status SyncDirectory(const std::string& directory) {
  MILLRACE_ASSIGN(const Fd fd, OpenFile(directory.empty() ? "." : directory, O_RDONLY | O_DIRECTORY));
  if (::fsync(fd.get()) != 0) return FromErrno(errno, "sync " + directory);
  return Status::Ok();
}

Status SyncData(int fd, std::string_view path) {
  return ::fdatasync(fd) == 0 ? Status::Ok() : FromErrno(errno, "sync " + std::string(path));
}

// After EINTR the descriptor is closed, too.
Status CloseFile(Fd fd, std::string_view path) {
  if (::close(fd.Release()) == 0 || errno == EINTR) return Status::Ok();
  return FromErrno(errno, "close " + std::string(path));
}

Status RenameFile(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? Status::Ok() : FromErrno(errno, "rename " + from + " to " + to);
}

namespace {

Status WriteNewFile(const std::string& path, std::string_view data) {
  MILLRACE_ASSIGN(Fd fd, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL));
  MILLRACE_TRY(WriteAll(fd.get(), data, path));
  if (::fsync(fd.get()) != 0) return FromErrno(errno, "sync " + path);
  return CloseFile(std::move(fd), path);
}

}  // namespace

// A file that an earlier try left beside the path may have failed to reach the disk, so it is not written over.
Status WriteFileDurably(const std::string& path, std::string_view data) {
  const std::string aside = path + ".tmp";
  ::unlink(aside.c_str());
  Status written = WriteNewFile(aside, data);
  if (written.ok()) written = RenameFile(aside, path);
  if (!written.ok()) {
    ::unlink(aside.c_str());
    return written;
  }
  return SyncDirectory(fs::path(path).parent_path().string());
}

Status SyncTree(const std::string& directory) {
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    if (fs::is_directory(fs::symlink_status(path))) {
      MILLRACE_TRY(SyncTree(path));
    } else {
      MILLRACE_ASSIGN(const Fd fd, OpenFile(path, O_RDONLY | O_NOFOLLOW));
      if (::fsync(fd.get()) != 0) return FromErrno(errno, "sync " + path);
    }
  }
  return SyncDirectory(directory);
}

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return FromErrno(error.value(), "make directory " + path);
  return Status::Ok();
}

Status RemoveTree(const std::string& path) { return RemoveTreeAt(AT_FDCWD, path, path); }

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator it(path, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) names.push_back(it->path().filename().string());
  if (error) return FromErrno(error.value(), "list " + path);
  std::sort(names.begin(), names.end());
  return names;
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(mapped_, other.mapped_);
  std::swap(skip_, other.skip_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (base_ != nullptr) ::munmap(base_, mapped_);
}

Result<MappedFile> MappedFile::Map(int fd, std::uint64_t offset, std::uint64_t size, std::string_view path) {
  MappedFile file;
  MILLRACE_ASSIGN(const std::uint64_t length, FileSize(fd, path));
  if (offset > length || size > length - offset) {
    return Corrupt("map " + std::string(path) + ": bytes " + std::to_string(offset) + " to " +
                   std::to_string(offset + size) + " of a file of " + std::to_string(length));
  }
  if (size == 0) return file;
  static const std::uint64_t page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  file.skip_ = offset % page;
  file.mapped_ = size + file.skip_;
  file.size_ = size;
  void* base = ::mmap(nullptr, file.mapped_, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset - file.skip_));
  if (base == MAP_FAILED) {
    file.size_ = 0;
    return FromErrno(errno, "map " + std::string(path));
  }
  file.base_ = static_cast<char*>(base);
  return file;
}

Status MappedFile::Fetch(std::size_t at, std::size_t size, std::string_view path) const {
#ifdef MADV_POPULATE_READ
  static const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (at >= size_ || size == 0) return Status::Ok();
  const std::size_t from = (skip_ + at) / page * page, to = skip_ + at + std::min(size, size_ - at);
  if (::madvise(base_ + from, to - from, MADV_POPULATE_READ) == 0) return Status::Ok();
  // This is how it says that a look at them would have been a signal.
  if (errno == EFAULT || errno == EHWPOISON || errno == EIO) return FromErrno(EIO, "read " + std::string(path));
#endif
  return Status::Ok();
}

Result<std::string> AbsolutePath(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return FromErrno(error.value(), "find the working directory, at which " + Quote(path) + " begins");
  return absolute.lexically_normal().string();
}

Result<TempDir> TempDir::Make(std::string_view name_prefix) {
  const char* root = std::getenv("TMPDIR");
  std::string path =
      std::string(root != nullptr && *root != '\0' ? root : "/tmp") + "/" + std::string(name_prefix) + "XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return FromErrno(errno, "make temporary directory " + path);
  return TempDir(std::move(path));
}

TempDir::~TempDir() {
  if (!path_.empty()) (void)RemoveTree(path_);
}

}  // namespace millrace
