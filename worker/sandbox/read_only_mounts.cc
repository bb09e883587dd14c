// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox/read_only_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "base/child_process.h"
#include "base/sandbox/launch_order.h"
#include "base/text.h"

extern char** environ;  // NOLINT: no header of POSIX declares it

namespace millrace::sandbox {
namespace {

constexpr const char* kMountReadOnly = "--mount-read-only";  // with paths of directories: the launcher mounts them

Result<std::string> WithoutLinks(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(realpath(path.c_str(), nullptr), free);
  if (real == nullptr) return FromErrno(errno, "find " + path);
  return std::string(real.get());
}

// Starts the launcher with its end of the socket in the place that it expects.
Result<pid_t> Start(const std::string& launcher, const std::vector<std::string>& paths, int report) {
  std::vector<std::string> words = {launcher, kMountReadOnly};
  words.insert(words.end(), paths.begin(), paths.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, report, kReportFd);
  posix_spawnattr_init(&attributes);
  PlainSignals(&attributes);
  pid_t child = -1;
  const int failure = posix_spawn(&child, launcher.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return failure == 0 ? Result<pid_t>(child) : Result<pid_t>(FromErrno(failure, "start " + launcher));
}

Result<Fd> Receive(int socket) {
  std::optional<LaunchReport> report = ReceiveReport(socket, 0);
  if (!report) return Unavailable("millrace-launch ended without a word");
  if (!report->passed.valid()) return Unavailable(report->failure);
  return std::move(report->passed);
}

}  // namespace

Result<ReadOnlyMounts> ReadOnlyMounts::Open(const std::string& launcher, const std::vector<std::string>& directories) {
  std::vector<std::string> paths;
  for (const std::string& directory : directories) {
    MILLRACE_ASSIGN(std::string path, WithoutLinks(directory));
    paths.push_back(std::move(path));
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return FromErrno(errno, "cannot make a socket pair");
  const Fd own(ends[0]);
  Fd theirs(ends[1]);
  MILLRACE_ASSIGN(const pid_t child, Start(launcher, paths, theirs.get()));
  theirs.Close();
  ReadOnlyMounts mounts;
  Status received;
  for (std::string& path : paths) {
    Result<Fd> top = Receive(own.get());
    received = top.status();
    if (!received.ok()) break;
    mounts.mounts_.push_back({std::move(path), *std::move(top)});
  }
  MILLRACE_TRY(WaitForChild(child).status());
  MILLRACE_TRY(received);
  return mounts;
}

Result<Fd> ReadOnlyMounts::Reopen(const Fd& file) const {
  char name[PATH_MAX];
  const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(file.get())).c_str(), name, sizeof name);
  if (length < 0) return FromErrno(errno, "cannot find the name of a file");
  const std::string path(name, static_cast<std::size_t>(length));
  for (const Mount& mount : mounts_) {
    if (!path.starts_with(mount.path + "/")) continue;
    open_how how = {};
    how.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const char* const below = path.c_str() + mount.path.size() + 1;
    Fd again(static_cast<int>(syscall(SYS_openat2, mount.top.get(), below, &how, sizeof how)));
    if (!again.valid()) return Unavailable(FromErrno(errno, "open " + path + " read-only").message());
    struct stat before = {}, now = {};
    if (fstat(file.get(), &before) != 0 || fstat(again.get(), &now) != 0) return FromErrno(errno, "look at " + path);
    if (before.st_dev != now.st_dev || before.st_ino != now.st_ino) break;
    return again;
  }
  return Unavailable(Quote(path) + " is in no directory that is mounted read-only");
}

}  // namespace millrace::sandbox
