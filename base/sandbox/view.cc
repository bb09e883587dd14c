// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/sandbox/confine.h"

extern "C" int mount(const char* source, const char* target, const char* type, unsigned long flags, const void* data);
extern "C" int umount2(const char* target, int flags);

namespace millrace::sandbox {
namespace {

// <sys/mount.h> and <linux/mount.h> of this system cannot be included together.
constexpr unsigned long kNoSetuid = 2, kNoDevices = 4, kNoExecution = 8, kRecursive = 16384, kSlave = 1UL << 19;
constexpr int kDetach = 2;

Status Failed(const std::string& what) { return FromErrno(errno, "mounts: cannot " + what); }

// A place that is taken along: a mount that is attached nowhere yet.
struct Taken {
  std::string path;
  Fd mount;
  bool directory = false;
  bool writable = false;
};

Status SetReadOnly(int mount, bool read_only, const std::string& path) {
  mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_NOSUID | (read_only ? MOUNT_ATTR_RDONLY : 0ULL);
  if (path.starts_with("/dev/")) {
    attributes.attr_set |= MOUNT_ATTR_NOEXEC;
  } else {
    attributes.attr_set |= MOUNT_ATTR_NODEV;
  }
  if (syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) == 0)
    return Status::Ok();
  return Failed("limit " + path);
}

// Takes nothing when there is no such path.
Status Take(const std::string& path, bool writable, std::vector<Taken>* taken) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return errno == ENOENT ? Status::Ok() : Failed("look at " + path);
  Taken place{path,
              Fd(static_cast<int>(
                  syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE))),
              S_ISDIR(info.st_mode), writable};
  if (!place.mount.valid()) return Failed("take " + path);
  MILLRACE_TRY(SetReadOnly(place.mount.get(), !writable, path));
  taken->push_back(std::move(place));
  return Status::Ok();
}

Status MountAt(const char* type, const std::string& path, unsigned long flags, const std::string& options) {
  if (mount(type, path.c_str(), type, flags, options.c_str()) == 0) return Status::Ok();
  return Failed(std::string("mount a ") + type + " at " + path);
}

// Shows a place. It is there already if it lies in one that was shown before, as an installed program lies in /usr.
Status Put(const Taken& place, const std::string& root) {
  const std::string target = root + place.path;
  const std::string parent = target.substr(0, target.rfind('/'));
  struct stat info = {};
  if (lstat(target.c_str(), &info) != 0) {
    MILLRACE_TRY(MakeDirectories(place.directory ? target : parent).Within("mounts"));
    if (!place.directory) MILLRACE_TRY(OpenFile(target, O_WRONLY | O_CREAT).status().Within("mounts"));
  }
  if (syscall(SYS_move_mount, place.mount.get(), "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0)
    return Status::Ok();
  return Failed("show " + place.path);
}

bool IsLink(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

// Returns true if one of the places contains the path, and so shows it.
bool LiesIn(const std::vector<std::string>& places, const std::string& path) {
  return std::any_of(places.begin(), places.end(),
                     [&](const std::string& place) { return path.starts_with(place + "/"); });
}

// Repeats a link of the system's root, such as /bin to usr/bin.
Status Link(const std::string& path, const std::string& root) {
  char target[4096];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  if (length < 0) return Failed("read " + path);
  if (symlink(std::string(target, static_cast<std::size_t>(length)).c_str(), (root + path).c_str()) == 0)
    return Status::Ok();
  return Failed("make " + path);
}

Status MakeDevices(const std::string& root) {
  const std::string shared = root + "/dev/shm";
  MILLRACE_TRY(MakeDirectories(shared).Within("mounts"));
  MILLRACE_TRY(MountAt("tmpfs", shared, kNoSetuid | kNoDevices | kNoExecution, "mode=1777,size=25%"));
  for (const auto& [name, target] : {std::pair{"fd", "/proc/self/fd"}, std::pair{"stdin", "/proc/self/fd/0"},
                                     std::pair{"stdout", "/proc/self/fd/1"}, std::pair{"stderr", "/proc/self/fd/2"}}) {
    if (symlink(target, (root + "/dev/" + name).c_str()) != 0) return Failed(std::string("make /dev/") + name);
  }
  return Status::Ok();
}

// A namespace of processes has a /proc that shows these alone. Without one the machine's is all that there is.
Status MakeProcesses(const LaunchOrder& order, const std::string& root, std::vector<Taken>* taken) {
  if (!order.own_processes) {
    for (const Taken& place : *taken) {
      if (place.path == "/proc") return Put(place, root);
    }
    return Status::Ok();
  }
  const std::string path = root + "/proc";
  MILLRACE_TRY(MakeDirectories(path).Within("processes"));
  if (mount("proc", path.c_str(), "proc", kNoSetuid | kNoDevices | kNoExecution, nullptr) == 0) return Status::Ok();
  return FromErrno(errno, "processes: cannot mount a /proc of its own");
}

// A hidden directory within a visible place stays hidden.
Status Hide(const std::string& path, const std::string& root) {
  struct stat info = {};
  if (stat((root + path).c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return Status::Ok();
  return MountAt("tmpfs", root + path, kNoSetuid | kNoDevices | kNoExecution, "mode=0555,size=4k");
}

Status Enter(const std::string& root) {
  mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (syscall(SYS_mount_setattr, AT_FDCWD, root.c_str(), 0, &attributes, sizeof attributes) != 0)
    return Failed("limit the root");
  if (chdir(root.c_str()) != 0 || syscall(SYS_pivot_root, ".", ".") != 0) return Failed("change the root");
  if (umount2(".", kDetach) != 0) return Failed("leave the old root");
  if (chdir("/tmp") != 0) return Failed("go to /tmp");
  return Status::Ok();
}

}  // namespace

Status EnterView(const LaunchOrder& order) {
  if (mount(nullptr, "/", nullptr, kRecursive | kSlave, nullptr) != 0) return Failed("keep mounts to itself");
  std::vector<Taken> taken;
  std::vector<std::string> links;
  for (const std::string& path : order.readable) {
    if (path.rfind('/') == 0 && IsLink(path)) {
      links.push_back(path);
    } else if (!IsLink(path) || !LiesIn(order.readable, path)) {
      MILLRACE_TRY(Take(path, false, &taken));
    }
  }
  for (const std::string& path : order.writable) MILLRACE_TRY(Take(path, true, &taken));
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"})
    MILLRACE_TRY(Take(device, true, &taken));
  if (!order.own_processes) MILLRACE_TRY(Take("/proc", true, &taken));

  // The old /tmp is only the place where the new root is built: it goes with the old root.
  const std::string root = "/tmp";
  MILLRACE_TRY(MountAt("tmpfs", root, kNoSetuid | kNoDevices, "mode=0755,size=1m"));
  for (const std::string& link : links) MILLRACE_TRY(Link(link, root));
  for (const std::string path : {"/tmp", "/dev"}) MILLRACE_TRY(MakeDirectories(root + path).Within("mounts"));
  MILLRACE_TRY(
      MountAt("tmpfs", root + "/tmp", kNoSetuid | kNoDevices, "mode=1777,size=" + std::to_string(order.tmp_bytes)));
  for (const Taken& place : taken) {
    if (place.path != "/proc") MILLRACE_TRY(Put(place, root));
  }
  MILLRACE_TRY(MakeDevices(root));
  MILLRACE_TRY(MakeProcesses(order, root, &taken));
  for (const std::string& path : order.hidden) MILLRACE_TRY(Hide(path, root));
  return Enter(root);
}

Result<Fd> MountReadOnly(const std::string& directory) {
  std::vector<Taken> taken;
  MILLRACE_TRY(Take(directory, false, &taken));
  if (taken.empty()) return NotFound("mounts: " + directory + " is not there");
  return std::move(taken.front().mount);
}

}  // namespace millrace::sandbox
