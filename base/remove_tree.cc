// SPDX-License-Identifier: Apache-2.0
#include "base/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr std::size_t kMostOpen = 16;
// The number of passes over a directory from its beginning, unless directories were moved up into it meanwhile.
constexpr int kMostPasses = 100;

struct CloseStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};
using Stream = std::unique_ptr<DIR, CloseStream>;

// Opens a directory that is not a link and, below a directory, not a mount; -1 with errno otherwise.
int OpenPlain(int parent, const std::string& name) {
  if (parent == AT_FDCWD) return ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  open_how how = {};
  how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  const long fd = ::syscall(SYS_openat2, parent, name.c_str(), &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(fd);
  return ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Gives the owner of a directory all permissions on it.
void Permit(int parent, const std::string& name) {
  const Fd place(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (place.valid()) (void)::chmod(("/proc/self/fd/" + std::to_string(place.get())).c_str(), 0700);
}

class TreeRemover {
 public:
  TreeRemover(int directory, std::string_view path, const std::function<bool()>& stop)
      : directory_(directory), path_(path), stop_(stop) {}

  Status Remove(const std::string& name) {
    if (::unlinkat(directory_, name.c_str(), 0) == 0 || errno == ENOENT) return Status::Ok();
    const int error = errno;
    if (!Enter(directory_, name)) return FromErrno(errno == ENOTDIR ? error : errno, Said());
    while (!levels_.empty()) {
      if (stop_ && stop_()) return Cancelled(Said() + ": it was interrupted");
      Step();
    }
    if (stay_ == 0) return Status::Ok();
    return FromErrno(error_,
                     Said() + ": " + std::to_string(stay_) + " of what it holds stay, the first is " + Quote(first_));
  }

 private:
  struct Level {
    Stream stream;
    std::string name;       // in the level below
    bool progress = false;  // something went in this pass
    int passes = 0;
    std::uint64_t stay_before = 0;  // what stayed elsewhere when it was entered
  };

  [[nodiscard]] std::string Said() const { return "remove " + path_; }
  [[nodiscard]] int FdOf(std::size_t level) const { return ::dirfd(levels_[level].stream.get()); }
  [[nodiscard]] int Below() const { return levels_.size() > 1 ? FdOf(levels_.size() - 2) : directory_; }

  // Opens a directory, with all permissions for its owner. Null, with errno, if it cannot be opened.
  static Stream Open(int parent, const std::string& name) {
    int fd = OpenPlain(parent, name);
    if (fd < 0 && errno == EACCES) {
      Permit(parent, name);
      fd = OpenPlain(parent, name);
    }
    if (fd < 0) return nullptr;
    struct stat info = {};
    if (::fstat(fd, &info) == 0 && (info.st_mode & S_IRWXU) != S_IRWXU)
      (void)::fchmod(fd, (info.st_mode & 07777) | S_IRWXU);
    Stream stream(::fdopendir(fd));
    const int error = errno;
    if (stream == nullptr) ::close(fd);
    errno = error;
    return stream;
  }

  // Makes the directory the one that is looked through. Returns false, with errno, if it cannot be opened.
  bool Enter(int parent, const std::string& name) {
    Stream stream = Open(parent, name);
    if (stream == nullptr) return false;
    levels_.push_back({std::move(stream), name, false, 0, stay_});
    return true;
  }

  void Step() {
    Level& level = levels_.back();
    errno = 0;
    const dirent* const entry = ::readdir(level.stream.get());
    if (entry == nullptr) return Leave();
    const std::string name = entry->d_name;
    if (name == "." || name == "..") return;
    const int fd = ::dirfd(level.stream.get());
    if (entry->d_type != DT_DIR) {
      if (::unlinkat(fd, name.c_str(), 0) == 0) return Went();
      if (errno == ENOENT) return;
      if (errno != EISDIR && errno != EPERM) return Stays(name);
    }
    if (::unlinkat(fd, name.c_str(), AT_REMOVEDIR) == 0) return Went();
    if (errno == ENOENT) return;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) return Stays(name);
    if (levels_.size() >= kMostOpen) return MoveUp(fd, name);
    if (Enter(fd, name)) return;
    if ((errno == EMFILE || errno == ENFILE) && levels_.size() > 1) return MoveUp(fd, name);
    if (errno != ENOENT) Stays(name);
  }

  // Ends a pass: the directory goes, or is looked through again if more of it may go.
  void Leave() {
    Level& level = levels_.back();
    level.stream.reset();
    if (::unlinkat(Below(), level.name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
      levels_.pop_back();
      if (!levels_.empty()) Went();
      return;
    }
    const bool filled = errno == ENOTEMPTY || errno == EEXIST;
    if (filled && level.progress && level.passes < kMostPasses) {
      level.progress = false;
      ++level.passes;
      stay_ = level.stay_before;
      level.stream = Open(Below(), level.name);
      if (level.stream != nullptr) return;
    }
    if (!filled || stay_ == 0) Stays(level.name);
    levels_.pop_back();
  }

  // Moves a directory to the top of the tree, under a name that is free. It counts as gone from where it was.
  void MoveUp(int fd, const std::string& name) {
    for (bool permitted = false;;) {
      const std::string to = ".moved-" + std::to_string(moved_++);
      if (::renameat(fd, name.c_str(), FdOf(0), to.c_str()) == 0) break;
      if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR || errno == EISDIR) continue;
      if (errno == ENOENT) return;
      if (permitted || (errno != EACCES && errno != EPERM)) return Stays(name);
      Permit(fd, name);
      permitted = true;
    }
    Went();
    levels_.front().progress = true;
    levels_.front().passes = 0;
  }

  void Went() { levels_.back().progress = true; }
  void Stays(const std::string& name) {
    if (stay_++ > 0) return;
    error_ = errno;
    first_ = name;
  }

  const int directory_;
  const std::string path_;
  const std::function<bool()>& stop_;
  std::vector<Level> levels_;
  std::uint64_t moved_ = 0;
  std::uint64_t stay_ = 0;
  int error_ = 0;  // of the first that stays
  std::string first_;
};

}  // namespace

Status RemoveTreeAt(int directory, const std::string& name, std::string_view path, const std::function<bool()>& stop) {
  return TreeRemover(directory, path, stop).Remove(name);
}

}  // namespace millrace
