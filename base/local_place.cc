// SPDX-License-Identifier: Apache-2.0
#include "base/local_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/address.h"
#include "base/random.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr int kTries = 100;
constexpr int kMostLinks = 40;  // as Linux follows them

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  return real == nullptr ? std::nullopt : std::optional<std::string>(real.get());
}

std::optional<std::string> TargetOf(const std::string& link) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  if (size < 0) return std::nullopt;
  return std::string(target, static_cast<std::size_t>(size));
}

// Returns the descriptor of this process that the path names, directly (/dev/fd/63) or by links (/dev/stdout). To open
// such a path again would begin at the start of a file that others append to, and a socket cannot be opened at all.
std::optional<int> DescriptorOf(std::string path) {
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/fd/";
  for (int links = 0; links < kMostLinks; ++links) {
    const std::optional<std::string> parent = RealPath(ParentOf(path));
    if (!parent) return std::nullopt;
    const std::string whole = *parent + "/" + path.substr(path.rfind('/') + 1);
    if (whole.starts_with(own)) {
      int fd = -1;
      const char* const begin = whole.data() + own.size();
      const auto [end, error] = std::from_chars(begin, whole.data() + whole.size(), fd);
      return error == std::errc() && end == whole.data() + whole.size() ? std::optional(fd) : std::nullopt;
    }
    const std::optional<std::string> target = TargetOf(whole);
    if (!target) return std::nullopt;
    path = target->starts_with('/') ? *target : *parent + "/" + *target;
  }
  return std::nullopt;
}

// Returns a name in the directory of `path` that nobody else uses. It is made from scratch, since the name of `path`
// may be as long as names can be.
std::string NameBeside(const std::string& path) {
  char name[40];
  std::snprintf(name, sizeof name, ".millrace-%016llx", static_cast<unsigned long long>(SeedFromSystem()));
  return path.substr(0, path.rfind('/') + 1) + name;  // without a slash the current directory is meant
}

// Makes an empty file in the directory of `path` and sets its name. errno says why there is none.
Fd MakeBeside(const std::string& path, int mode, std::string* made) {
  for (int i = 0; i < kTries; ++i) {
    const std::string name = NameBeside(path);
    Fd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd.valid() && errno == EEXIST) continue;
    if (fd.valid()) *made = name;
    return fd;
  }
  return {};
}

Status TakeName(const std::string& from, const std::string& to, bool replace) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), replace ? 0 : RENAME_NOREPLACE) == 0)
    return Status::Ok();
  if (errno == EINVAL && !replace) {  // the file system does not support RENAME_NOREPLACE
    struct stat found {};
    if (::lstat(to.c_str(), &found) == 0) return FromErrno(EEXIST, Quote(to));
    if (::rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
  }
  return FromErrno(errno, Quote(to));
}

Status AlreadyThere(const std::string& path) {
  return Exists(Quote(path) + " exists already; remove it or choose another place");
}

// Says why nothing can be made at the path, and what to do.
Status CannotMake(int error, const std::string& path) {
  const std::string what = Quote(path) + " cannot be made: ", parent = Quote(ParentOf(path));
  switch (error) {
    case EEXIST:
      return AlreadyThere(path);
    case ENOENT:
      if (const std::string_view scheme = SchemeOf(path); IsFileScheme(scheme))
        return Invalid(Quote(path) + " is a URL; give the path alone, without " + std::string(scheme) + "://");
      if (!SchemeOf(path).empty())
        return Invalid(
            Quote(path) +
            " is a URL, not a path on this machine; give a path, and copy from there with the tools of that system");
      if (LookAtLocal(ParentOf(path)) == LocalKind::kDirectory)  // as in /proc
        return NotFound(what + "nothing can be made in " + parent + "; choose another place");
      return NotFound(what + "the directory " + parent + " does not exist; make it first, or choose another place");
    case ENOTDIR:
      return Invalid(what + parent + " is not a directory; choose another place");
    case EACCES:
    case EPERM:
      return Denied(what + "you may not make anything in " + parent + "; choose another place");
    case EROFS:
      return Status(StatusCode::kIo, what + parent + " is on a file system that is read-only; choose another place");
    case ENOSPC:
    case EDQUOT:
      return NoSpace(what + "no room or quota is left there; make room, or choose another place");
    case ENAMETOOLONG:
      return Invalid(what + "its name is too long; choose a shorter one");
    default:
      return FromErrno(error, Quote(path) + " cannot be made");
  }
}

// Returns a failure if something is at the path or nothing of this name can be.
Status CheckNothingThere(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) return AlreadyThere(path);
  return errno == ENOENT ? Status::Ok() : CannotMake(errno, path);
}

Status CannotWrite(const std::string& path, const std::string& why) { return Invalid(Quote(path) + " " + why); }

}  // namespace

LocalKind LookAtLocal(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0)
    return ::lstat(path.c_str(), &found) == 0 ? LocalKind::kDeadLink : LocalKind::kNothing;
  if (S_ISDIR(found.st_mode)) return LocalKind::kDirectory;
  if (S_ISCHR(found.st_mode) || S_ISBLK(found.st_mode) || S_ISFIFO(found.st_mode) || DescriptorOf(path))
    return LocalKind::kStream;
  return S_ISSOCK(found.st_mode) ? LocalKind::kSocket : LocalKind::kFile;
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

LocalFile::LocalFile(LocalFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::move(other.path_)),
      staged_(std::exchange(other.staged_, {})),
      replace_(other.replace_) {}

LocalFile::~LocalFile() {
  if (!staged_.empty()) ::unlink(staged_.c_str());
}

Result<LocalFile> LocalFile::Open(const std::string& path, Options options) {
  std::string place = path;
  std::optional<struct stat> replaced;
  switch (LookAtLocal(path)) {
    case LocalKind::kStream: {
      const std::optional<int> own = DescriptorOf(path);
      Fd fd(own ? ::fcntl(*own, F_DUPFD_CLOEXEC, 3) : ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
      if (!fd.valid()) return FromErrno(errno, "write to " + Quote(path));
      return LocalFile(std::move(fd), path);
    }
    case LocalKind::kDirectory:
      return CannotWrite(path, "is a directory; name a file in it");
    case LocalKind::kSocket:
      return CannotWrite(path, "is a socket; choose another place");
    case LocalKind::kDeadLink:
      return Exists(Quote(path) + " is a link to " + Quote(TargetOf(path).value_or("")) +
                    ", which does not exist; remove the link, or name that place");
    case LocalKind::kFile:
      if (!options.replace) return AlreadyThere(path);
      if (const std::optional<std::string> real = RealPath(path)) place = *real;
      if (::stat(place.c_str(), &replaced.emplace()) != 0) return FromErrno(errno, Quote(path));
      break;
    case LocalKind::kNothing:
      if (path.ends_with('/')) return CannotWrite(path, "names a directory, which does not exist; name a file");
      MILLRACE_TRY(CheckNothingThere(path));
      break;
  }
  LocalFile file({}, place);
  file.replace_ = options.replace;
  file.fd_ = MakeBeside(place, options.mode, &file.staged_);
  if (!file.fd_.valid()) return CannotMake(errno, path);
  if (!replaced) return file;
  // A user who may not give files away keeps them: the bits that act for the owner would then act for another user.
  const bool same = ::fchown(file.fd(), replaced->st_uid, replaced->st_gid) == 0;
  if (::fchmod(file.fd(), replaced->st_mode & (same ? 07777U : 0777U)) != 0)
    return FromErrno(errno, "set the mode of " + Quote(path));
  return file;
}

Status LocalFile::Commit() {
  if (staged_.empty()) return CloseFile(std::move(fd_), path_);
  // Else a full disk or a file server may report its error as late as at the close.
  if (replace_) MILLRACE_TRY(SyncData(fd_.get(), path_));
  MILLRACE_TRY(CloseFile(std::move(fd_), path_));
  MILLRACE_TRY(TakeName(staged_, path_, replace_));
  staged_.clear();
  return Status::Ok();
}

Status WriteLocalFile(const std::string& path, std::string_view data) {
  MILLRACE_ASSIGN(LocalFile file, LocalFile::Open(path, {.replace = true}));
  MILLRACE_TRY(WriteAll(file.fd(), data, path));
  return file.Commit();
}

Result<LocalDirectory> LocalDirectory::Make(const std::string& path) {
  const std::string place = WithoutSlashes(path);
  MILLRACE_TRY(CheckNothingThere(place));
  for (int i = 0; i < kTries; ++i) {
    std::string name = NameBeside(place);
    const int made = ::mkdir(name.c_str(), 0777);
    if (made != 0 && errno == EEXIST) continue;
    if (made != 0) break;
    LocalDirectory directory;
    directory.staged_ = std::move(name);
    directory.place_ = place;
    return directory;
  }
  return CannotMake(errno, place);
}

LocalDirectory::~LocalDirectory() {
  if (!staged_.empty()) (void)RemoveTree(staged_);
}

Status LocalDirectory::Commit() {
  MILLRACE_TRY(TakeName(staged_, place_, false));
  staged_.clear();
  return Status::Ok();
}

Status CheckNewDirectory(const std::string& path) {
  const std::string place = WithoutSlashes(path);
  MILLRACE_TRY(CheckNothingThere(place));
  if (::mkdir(place.c_str(), 0777) != 0) return CannotMake(errno, place);
  return ::rmdir(place.c_str()) == 0 ? Status::Ok() : FromErrno(errno, "remove " + Quote(place));
}

Status PrepareDirectory(const std::string& path) {
  const std::string place = WithoutSlashes(path);
  if (!SchemeOf(path).empty() && LookAtLocal(path) == LocalKind::kNothing) return CannotMake(ENOENT, path);
  MILLRACE_TRY(MakeDirectories(place));
  std::string tried;
  if (!MakeBeside(place + "/", 0600, &tried).valid())
    return FromErrno(errno, "no file can be made in " + Quote(place) + "; choose another directory");
  ::unlink(tried.c_str());
  return Status::Ok();
}

}  // namespace millrace
