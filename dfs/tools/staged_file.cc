#include "dfs/tools/staged_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/random.h"
#include "base/text.h"

namespace millrace::dfs {
namespace {

constexpr int kTries = 100;

// Returns a name in the directory of `path` that nobody else uses. It is made from scratch, since `path` may already be
// as long as names can be.
std::string Beside(const std::string& path) {
  char name[40];
  std::snprintf(name, sizeof name, ".millrace-%016llx", static_cast<unsigned long long>(SeedFromSystem()));
  return path.substr(0, path.rfind('/') + 1) + name;  // if there is no slash, the current directory is meant
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Status Rename(const std::string& from, const std::string& to, bool overwrite) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), overwrite ? 0 : RENAME_NOREPLACE) == 0)
    return Status::Ok();
  if (errno == EINVAL && !overwrite) {  // the file system does not support RENAME_NOREPLACE
    struct stat found {};
    if (::lstat(to.c_str(), &found) == 0) return FromErrno(EEXIST, Quote(to));
    if (::rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
  }
  return FromErrno(errno, Quote(to));
}

}  // namespace

Result<StagedFile> StagedFile::Make(const std::string& path) {
  for (int i = 0; i < kTries; ++i) {
    std::string name = Beside(path);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) break;
    StagedFile file;
    file.fd_ = Fd(fd);
    file.staged_ = std::move(name);
    file.path_ = path;
    return file;
  }
  return FromErrno(errno, "write " + Quote(path));
}

StagedFile::~StagedFile() {
  if (!staged_.empty()) ::unlink(staged_.c_str());
}

Status StagedFile::Commit(bool overwrite) {
  // What replaces a file is on the disk before that file goes. Else a full disk or a file server may report its error
  // as late as at the close.
  if (overwrite) MILLRACE_TRY(SyncData(fd_.get(), path_));
  MILLRACE_TRY(CloseFile(std::move(fd_), path_));
  MILLRACE_TRY(Rename(staged_, path_, overwrite));
  staged_.clear();
  return Status::Ok();
}

Result<StagedDirectory> StagedDirectory::Make(const std::string& path) {
  const std::string place = WithoutSlashes(path);
  for (int i = 0; i < kTries; ++i) {
    std::string name = Beside(place);
    const int made = ::mkdir(name.c_str(), 0777);
    if (made != 0 && errno == EEXIST) continue;
    if (made != 0) break;
    StagedDirectory directory;
    directory.staged_ = std::move(name);
    directory.path_ = place;
    return directory;
  }
  return FromErrno(errno, "make " + Quote(path));
}

StagedDirectory::~StagedDirectory() {
  if (!staged_.empty()) (void)RemoveTree(staged_);
}

Status StagedDirectory::Commit() {
  MILLRACE_TRY(Rename(staged_, path_, false));
  staged_.clear();
  return Status::Ok();
}

}  // namespace millrace::dfs
