#include "dfs/tools/aside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace millrace::dfs {
namespace {

constexpr char kName[] = ".millrace-XXXXXX";  // short: the final name may be as long as names can be

std::string Beside(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  return (slash == std::string::npos ? std::string() : path.substr(0, slash + 1)) + kName;
}

// What creation would have given; asking changes it for a moment, so it is asked before threads need it.
mode_t Mask() {
  const mode_t mask = ::umask(022);
  ::umask(mask);
  return mask;
}

Status Rename(const std::string& from, const std::string& to, bool overwrite) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), overwrite ? 0 : RENAME_NOREPLACE) == 0) return Status::Ok();
  if (errno == EINVAL && !overwrite) {  // a file system without RENAME_NOREPLACE
    struct stat found {};
    if (::lstat(to.c_str(), &found) == 0) return FromErrno(EEXIST, Quote(to));
    if (::rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
  }
  return FromErrno(errno, Quote(to));
}

}  // namespace

Result<AsideFile> AsideFile::Make(const std::string& path) {
  AsideFile file;
  std::string name = Beside(path);
  file.fd_ = Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.fd_.valid()) return FromErrno(errno, "write " + Quote(path));
  file.aside_ = std::move(name);
  file.path_ = path;
  if (::fchmod(file.fd_.get(), 0666 & ~Mask()) != 0) return FromErrno(errno, "write " + Quote(path));
  return file;
}

AsideFile::~AsideFile() {
  if (!aside_.empty()) ::unlink(aside_.c_str());
}

Status AsideFile::Commit(bool overwrite) {
  // What a full disk or a file server refuses may be said as late as here.
  if (::close(fd_.Release()) != 0) return FromErrno(errno, "write " + Quote(path_));
  MILLRACE_TRY(Rename(aside_, path_, overwrite));
  aside_.clear();
  return Status::Ok();
}

Result<AsideDirectory> AsideDirectory::Make(const std::string& path) {
  AsideDirectory directory;
  std::string name = Beside(path);
  if (::mkdtemp(name.data()) == nullptr) return FromErrno(errno, "make " + Quote(path));
  directory.aside_ = std::move(name);
  directory.path_ = path;
  while (directory.path_.size() > 1 && directory.path_.ends_with('/')) directory.path_.pop_back();
  if (::chmod(directory.aside_.c_str(), 0777 & ~Mask()) != 0) return FromErrno(errno, "make " + Quote(path));
  return directory;
}

AsideDirectory::~AsideDirectory() {
  if (!aside_.empty()) (void)RemoveTree(aside_);
}

Status AsideDirectory::Commit() {
  MILLRACE_TRY(Rename(aside_, path_, false));
  aside_.clear();
  return Status::Ok();
}

}  // namespace millrace::dfs
