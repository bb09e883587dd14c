// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox/task_directories.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/remove_tree.h"
#include "base/text.h"

namespace millrace::sandbox {
namespace {

constexpr int kNever = O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
constexpr int kPlace = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Status Foreign(const std::string& path, std::string_view is) {
  return Invalid(path + " is " + std::string(is) + "; the task that owns it has replaced it");
}

// Returns true for an error of open(2) that means that something is not a regular file, or is not where it seems to be.
bool IsOfForeign(int error) {
  return error == ELOOP || error == EXDEV || error == ENXIO || error == EISDIR || error == ENOTDIR || error == ENODEV;
}

int OpenAtOnce(int directory, const std::string& below, int flags, mode_t mode) {
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(flags);
  if ((flags & O_CREAT) != 0) how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  // EAGAIN is not a reason to try again: somebody has a lease on the file, and keeps it.
  for (;;) {
    const long fd = syscall(SYS_openat2, directory, below.c_str(), &how, sizeof how);
    if (fd >= 0 || errno != EINTR) return static_cast<int>(fd);
  }
}

int OpenStepByStep(int directory, const std::string& below, int flags, mode_t mode) {
  struct stat top = {}, info = {};
  if (fstat(directory, &top) != 0) return -1;
  Fd held;
  int at = directory;
  std::size_t begin = 0;
  for (std::size_t slash = below.find('/'); slash != std::string::npos; slash = below.find('/', begin)) {
    Fd next(openat(at, below.substr(begin, slash - begin).c_str(), kPlace));
    if (!next.valid() || fstat(next.get(), &info) != 0) return -1;
    if (info.st_dev != top.st_dev) {
      errno = EXDEV;
      return -1;
    }
    held = std::move(next);
    at = held.get();
    begin = slash + 1;
  }
  return openat(at, below.substr(begin).c_str(), flags, mode);
}

// Gives the owner of a directory all permissions on it.
void Permit(int directory) {
  struct stat info = {};
  if (fstat(directory, &info) != 0) return;
  (void)chmod(("/proc/self/fd/" + std::to_string(directory)).c_str(), (info.st_mode & 07777) | S_IRWXU);
}

}  // namespace

Result<TaskDirectories> TaskDirectories::Open(std::vector<std::string> paths, Lookup lookup) {
  std::vector<Root> roots;
  for (std::string& path : paths) {
    MILLRACE_ASSIGN(Fd directory, OpenFile(path, O_PATH | O_DIRECTORY));
    // An old kernel does not have openat2(2), and a container may forbid it.
    const Fd tried(OpenAtOnce(directory.get(), ".", kPlace, 0));
    if (!tried.valid()) lookup = Lookup::kStepByStep;
    roots.push_back({std::move(path), std::make_shared<const Fd>(std::move(directory))});
  }
  return TaskDirectories(std::move(roots), lookup);
}

Result<TaskDirectories::Place> TaskDirectories::Find(const std::string& path) const {
  for (const Root& root : roots_) {
    if (path == root.path) return Place{&root, "."};
    if (!path.starts_with(root.path + "/")) continue;
    std::string below = path.substr(root.path.size() + 1);
    const std::string slashed = "/" + below + "/";
    for (const char* part : {"//", "/./", "/../"}) {
      if (slashed.find(part) != std::string::npos) return Invalid(Quote(path) + " is not a plain path");
    }
    return Place{&root, std::move(below)};
  }
  return Invalid(Quote(path) + " lies in none of the directories of tasks");
}

int TaskDirectories::OpenBelow(const Place& place, int flags, mode_t mode) const {
  const int directory = place.root->directory->get();
  return lookup_ == Lookup::kAtOnce ? OpenAtOnce(directory, place.below, flags, mode)
                                    : OpenStepByStep(directory, place.below, flags, mode);
}

Result<Fd> TaskDirectories::OpenRegular(const std::string& path, int flags) const {
  MILLRACE_ASSIGN(const Place place, Find(path));
  Fd file(OpenBelow(place, flags | kNever, 0644));
  if (!file.valid()) {
    const int error = errno;
    if (error == EWOULDBLOCK) return Foreign(path, "a file on which somebody has a lease");
    return IsOfForeign(error) ? Foreign(path, "not a regular file") : FromErrno(error, "open " + path);
  }
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return FromErrno(errno, "cannot look at " + path);
  if (!S_ISREG(info.st_mode)) return Foreign(path, "not a regular file");
  if (info.st_nlink > 1) return Foreign(path, "a file that has another name, too");
  return file;
}

Result<Fd> TaskDirectories::Read(const std::string& path) const { return OpenRegular(path, O_RDONLY); }
Result<Fd> TaskDirectories::Append(const std::string& path) const {
  return OpenRegular(path, O_WRONLY | O_APPEND | O_CREAT);
}
Result<Fd> TaskDirectories::Create(const std::string& path) const {
  return OpenRegular(path, O_WRONLY | O_CREAT | O_EXCL);
}

Result<Fd> TaskDirectories::Replace(const std::string& path) const {
  auto made = Create(path);
  if (made.status().code() != StatusCode::kExists) return made;
  MILLRACE_TRY(RemoveTree(path));
  return Create(path);
}

Result<TaskDirectories::Entry> TaskDirectories::FindEntry(const std::string& path) const {
  MILLRACE_ASSIGN(Place place, Find(path));
  const std::size_t slash = place.below.rfind('/');
  Entry entry;
  entry.name = slash == std::string::npos ? place.below : place.below.substr(slash + 1);
  place.below = slash == std::string::npos ? "." : place.below.substr(0, slash);
  if (entry.name == ".") return Invalid(Quote(path) + " is itself a directory of tasks");
  entry.directory = Fd(OpenBelow(place, kPlace, 0));
  if (entry.directory.valid()) return entry;
  const int error = errno;
  return IsOfForeign(error) ? Foreign(path, "not below plain directories") : FromErrno(error, "look for " + path);
}

Status TaskDirectories::MakeDirectory(const std::string& path, const Access& access) const {
  MILLRACE_ASSIGN(const Entry entry, FindEntry(path));
  const int at = entry.directory.get();
  const char* const name = entry.name.c_str();
  for (int tries = 0; mkdirat(at, name, access.mode) != 0; ++tries) {
    if (errno != EEXIST || tries > 0) return FromErrno(errno, "cannot make " + path);
    MILLRACE_ASSIGN(const bool removed, RemoveFile(path));
    if (!removed) return Status::Ok();  // it is a directory
  }
  if (!access.owner && !access.group) return Status::Ok();
  const Fd made(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const bool done = made.valid() &&
                    fchown(made.get(), access.owner.value_or(static_cast<uid_t>(-1)),
                           access.group.value_or(static_cast<gid_t>(-1))) == 0 &&
                    fchmod(made.get(), access.mode) == 0;
  return done ? Status::Ok() : FromErrno(errno, "cannot hand over " + path);
}

Status TaskDirectories::ForEach(const std::string& path, const Visit& visit) const {
  MILLRACE_ASSIGN(const Place place, Find(path));
  const int fd = OpenBelow(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0) {
    const int error = errno;
    return IsOfForeign(error) ? Foreign(path, "not a directory") : FromErrno(error, "list " + path);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fd), closedir);
  if (stream == nullptr) {
    const Status failed = FromErrno(errno, "list " + path);
    close(fd);
    return failed;
  }
  errno = 0;
  while (const dirent* const entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    struct stat info = {};
    const bool listed = name != "." && name != "..";
    if (listed && fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && !visit(name, info)) return Status::Ok();
    errno = 0;
  }
  return errno == 0 ? Status::Ok() : FromErrno(errno, "list " + path);
}

std::uint64_t TaskDirectories::BytesOnDisk(const std::string& path, std::size_t most, bool* whole) const {
  constexpr std::uint64_t kBlock = 512;  // of st_blocks
  std::uint64_t bytes = 0;
  std::vector<std::string> directories;
  const auto add = [&](const std::string& at, const struct stat& info) {
    bytes += static_cast<std::uint64_t>(info.st_blocks) * kBlock;
    if (S_ISDIR(info.st_mode)) directories.push_back(at);
  };
  const auto entry = FindEntry(path);
  struct stat top = {};
  if (!entry.ok() || fstatat(entry->directory.get(), entry->name.c_str(), &top, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  add(path, top);
  std::size_t seen = 0;
  while (!directories.empty() && seen < most) {
    const std::string directory = std::move(directories.back());
    directories.pop_back();
    const Status seen_it = ForEach(directory, [&](const std::string& name, const struct stat& info) {
      add(directory + "/" + name, info);
      return ++seen < most;
    });
    if (whole != nullptr && !seen_it.ok() && seen_it.code() != StatusCode::kNotFound) *whole = false;
  }
  if (whole != nullptr && seen >= most) *whole = false;
  return bytes;
}

Result<bool> TaskDirectories::RemoveFile(const std::string& path) const {
  const auto entry = FindEntry(path);
  if (entry.status().code() == StatusCode::kNotFound) return true;
  MILLRACE_TRY(entry.status());
  for (bool permitted = false;; permitted = true) {
    if (unlinkat(entry->directory.get(), entry->name.c_str(), 0) == 0 || errno == ENOENT) return true;
    const int error = errno;
    struct stat info = {};
    const bool found = fstatat(entry->directory.get(), entry->name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (found && S_ISDIR(info.st_mode)) return false;
    if (permitted || error != EACCES) return FromErrno(error, "remove " + path);
    Permit(entry->directory.get());
  }
}

Status TaskDirectories::Rename(const std::string& from, const std::string& to) const {
  MILLRACE_ASSIGN(const Entry source, FindEntry(from));
  MILLRACE_ASSIGN(const Entry target, FindEntry(to));
  for (bool permitted = false;; permitted = true) {
    if (renameat(source.directory.get(), source.name.c_str(), target.directory.get(), target.name.c_str()) == 0)
      return Status::Ok();
    const int error = errno;
    if (error == ENOTEMPTY || error == ENOTDIR || error == EISDIR) return FromErrno(EEXIST, "rename to " + to);
    if (permitted || error != EACCES) return FromErrno(error, "rename " + from);
    Permit(source.directory.get());
    // A directory that goes elsewhere has to be writable, for the sake of its "..".
    const Fd place(openat(source.directory.get(), source.name.c_str(), kPlace));
    if (place.valid()) Permit(place.get());
  }
}

Status TaskDirectories::RemoveTree(const std::string& path, const std::function<bool()>& stop) const {
  const auto entry = FindEntry(path);
  if (entry.status().code() == StatusCode::kNotFound) return Status::Ok();
  MILLRACE_TRY(entry.status());
  return RemoveTreeAt(entry->directory.get(), entry->name, path, stop);
}

}  // namespace millrace::sandbox
