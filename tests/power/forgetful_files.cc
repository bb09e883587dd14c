// SPDX-License-Identifier: Apache-2.0
#include "tests/power/forgetful_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

namespace millrace::power {

namespace fs = std::filesystem;

using Inode = std::uint64_t;  // all on one device
using Names = std::map<std::string, Inode>;

struct ForgetfulFiles::State {
  std::string directory;
  std::function<void()> at_call;
  std::map<Inode, std::string> bytes;                     // of files, as synced
  std::map<Inode, std::map<std::uint64_t, Names>> names;  // of directories, after each call since the last sync
  std::set<Inode> synced_directories;
  std::map<Inode, std::string> forgotten;                      // of files unlinked or replaced that may come back
  std::map<Inode, std::map<std::uint64_t, std::string>> lost;  // pages that a failed sync lost, as they were then
  std::function<int(Call, const std::string&)> error;
  std::uint64_t calls = 0;
  bool lies = false, evicts = false;

  void Before();
  void Synced(int fd);
  void Lost(int fd);
  void Gone(const std::string& path);
  void Named(const std::string& path);
  void MakeImage(Inode from, std::uint64_t time, const std::string& path, const std::string& image, Random& random);
  [[nodiscard]] std::string Torn(const std::string& synced, const std::string& now, Random& random) const;
};

namespace {

std::recursive_mutex mutex;
ForgetfulFiles::State* current = nullptr;
thread_local bool inside = false;  // our own calls

struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = before; }
  bool before = inside;
};

// Restores errno at its end, so that later calls do not hide the error of the failed one.
struct KeepError {
  ~KeepError() { errno = error; }
  int error = errno;
};

Inode InodeOf(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Names Entries(const std::string& path) {
  Names entries;
  for (const auto& entry : fs::directory_iterator(path)) {
    entries[entry.path().filename().string()] = InodeOf(entry.path().string());
  }
  return entries;
}

constexpr std::uint64_t kPage = 4096;

std::string PageOf(const std::string& bytes, std::uint64_t page) {
  return page * kPage < bytes.size() ? bytes.substr(page * kPage, kPage) : std::string();
}

// The file's length stays: it is not in the page.
void PutPage(std::string& bytes, std::uint64_t page, std::string content) {
  content.resize(PageOf(bytes, page).size(), '\0');
  bytes.replace(page * kPage, content.size(), content);
}

std::string Canonical(const std::string& path) {
  std::error_code error;
  return fs::weakly_canonical(path, error).string();
}

}  // namespace

void ForgetfulFiles::State::Before() {
  ++calls;
  if (at_call) at_call();
}

void ForgetfulFiles::State::Synced(int fd) {
  const KeepError keep;
  struct stat info = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (lies || ::fstat(fd, &info) != 0) return;
  if (S_ISDIR(info.st_mode)) {
    names[info.st_ino] = {{calls, Entries(link)}};
    synced_directories.insert(info.st_ino);
    return;
  }
  std::string now = Contents(link);
  std::string& synced = bytes[info.st_ino];
  for (const auto& [page, then] :
       lost[info.st_ino]) {  // what was not written again since is clean, and not brought back
    if (PageOf(now, page) == then) PutPage(now, page, PageOf(synced, page));
  }
  synced = std::move(now);
}

// The file's pages are clean from now on, and not on the disk.
void ForgetfulFiles::State::Lost(int fd) {
  struct stat info = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (::fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) return;
  const std::string now = Contents(link), synced = bytes[info.st_ino];
  std::string left = now;
  for (std::uint64_t page = 0; page * kPage < now.size(); ++page) {
    if (PageOf(now, page) == PageOf(synced, page)) continue;
    lost[info.st_ino][page] = PageOf(now, page);
    PutPage(left, page, PageOf(synced, page));
  }
  if (!evicts) return;
  lost.erase(info.st_ino);
  const int file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, link.c_str(), O_WRONLY | O_CLOEXEC, 0));
  for (std::size_t at = 0; at < left.size();) {
    const auto n = ::syscall(SYS_pwrite64, file, left.data() + at, left.size() - at, static_cast<off_t>(at));
    if (n <= 0) break;
    at += static_cast<std::size_t>(n);
  }
  ::syscall(SYS_close, file);
}

// The inode's number may be given out again: what it held is kept under a number of its own.
void ForgetfulFiles::State::Gone(const std::string& path) {
  const Inode inode = InodeOf(path);
  if (inode == 0) return;
  static Inode next = Inode{1} << 60;
  const Inode kept = next++;
  bool wanted = false;
  for (auto& [directory_inode, times] : names) {
    for (auto& [time, entries] : times) {
      for (auto& [name, entry] : entries) {
        if (entry == inode) entry = kept, wanted = true;
      }
    }
  }
  if (wanted) forgotten[kept] = bytes.contains(inode) ? bytes.at(inode) : std::string();
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && info.st_nlink <= 1) {
    bytes.erase(inode);
    lost.erase(inode);
  }
}

// Something was made, removed or renamed at this path.
void ForgetfulFiles::State::Named(const std::string& path) {
  const KeepError keep;
  const std::string parent = fs::path(Canonical(path)).parent_path().string();
  if (fs::is_directory(parent)) names[InodeOf(parent)][calls] = Entries(parent);
}

// Each sector is the old or the new one; so is the length.
std::string ForgetfulFiles::State::Torn(const std::string& synced, const std::string& now, Random& random) const {
  constexpr std::size_t kSector = 512;
  if (synced == now) return now;
  switch (random.Below(3)) {
    case 0:
      return synced;
    case 1:
      return now;
    default:
      break;
  }
  std::string torn = random.Below(2) == 0 ? now : synced;
  torn.resize(std::max(synced.size(), std::min(now.size(), synced.size() + random.Below(now.size() + 1))), '\0');
  for (std::size_t at = 0; at < torn.size(); at += kSector) {
    const std::string& from = random.Below(2) == 0 ? now : synced;
    for (std::size_t i = at; i < std::min(at + kSector, torn.size()); ++i) torn[i] = i < from.size() ? from[i] : '\0';
  }
  return torn;
}

// The directory as it was after the call `time`, or at its last sync if that is later: entries come to the disk in
// order, as every journal of a file system has them. `path`: where it is now; empty: it is not any more.
void ForgetfulFiles::State::MakeImage(Inode from, std::uint64_t time, const std::string& path, const std::string& image,
                                      Random& random) {
  fs::create_directory(image);
  const auto known = names.find(from);
  if (known == names.end()) return;
  auto then = known->second.upper_bound(time);
  if (then != known->second.begin()) --then;
  if (then->first > time && !path.empty() && !synced_directories.contains(from)) return;  // it was not there yet
  const Names now = path.empty() ? Names() : Entries(path);
  for (const auto& [name, inode] : then->second) {
    const bool still = now.contains(name) && now.at(name) == inode;
    const std::string below = path + "/" + name, to = image + "/" + name;
    const std::string old = forgotten.contains(inode) ? forgotten.at(inode)
                            : bytes.contains(inode)   ? bytes.at(inode)
                                                      : std::string();
    if (still && fs::is_directory(below)) {
      MakeImage(inode, time, below, to, random);
    } else if (still) {
      std::ofstream(to, std::ios::binary) << Torn(old, Contents(below), random);
    } else {
      std::ofstream(to, std::ios::binary) << old;  // renamed or removed since
    }
  }
}

ForgetfulFiles::ForgetfulFiles(std::string directory, std::function<void()> at_call)
    : state_(std::make_unique<State>()) {
  state_->directory = std::move(directory);
  state_->at_call = std::move(at_call);
  state_->names[InodeOf(state_->directory)][0] = {};
  state_->synced_directories.insert(InodeOf(state_->directory));
  const std::lock_guard lock(mutex);
  current = state_.get();
}

ForgetfulFiles::~ForgetfulFiles() {
  const std::lock_guard lock(mutex);
  current = nullptr;
}

void ForgetfulFiles::Cut(const std::string& image, Random& random) {
  const std::lock_guard lock(mutex);
  const Inside us;
  // The journal is behind by so many calls: by none, by a few, or by any number, since a file system may be in no
  // hurry.
  const std::uint64_t back = random.Below(2) == 0 ? 0 : random.Below(random.Below(2) == 0 ? 50 : state_->calls + 1);
  const std::uint64_t time = state_->calls - std::min(state_->calls, back);
  state_->MakeImage(InodeOf(state_->directory), time, state_->directory, image, random);
}

void ForgetfulFiles::Lie() {
  const std::lock_guard lock(mutex);
  state_->lies = true;
}

void ForgetfulFiles::Refuse(std::function<int(Call, const std::string&)> error, bool evicts) {
  const std::lock_guard lock(mutex);
  state_->error = std::move(error);
  state_->evicts = evicts;
}

std::uint64_t ForgetfulFiles::calls() const {
  const std::lock_guard lock(mutex);
  return state_->calls;
}

namespace {

bool Ours(const std::string& path) {
  return current != nullptr && (path == current->directory || path.starts_with(current->directory + "/"));
}

std::string PathOf(int fd) {
  char path[4096];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

// Holds every other call below the directory while one is made.
class Hold {
 public:
  explicit Hold(const std::string& path) { Take(path); }
  explicit Hold(int fd) {
    if (!inside && current != nullptr) Take(PathOf(fd));
  }
  ~Hold() {
    if (held_) inside = false;
  }
  [[nodiscard]] bool held() const { return held_; }
  // Returns true, and sets errno, if the call is to fail.
  [[nodiscard]] bool Refuses(ForgetfulFiles::Call call) const {
    const int error = held_ && current->error ? current->error(call, path_) : 0;
    if (error != 0) errno = error;
    return error != 0;
  }

 private:
  void Take(const std::string& path) {
    if (inside || current == nullptr) return;
    lock_ = std::unique_lock(mutex);
    inside = true;
    if (current == nullptr || !Ours(Canonical(path))) {
      inside = false;
      lock_.unlock();
      return;
    }
    held_ = true;
    path_ = path;
    current->Before();
  }
  std::unique_lock<std::recursive_mutex> lock_;
  std::string path_;
  bool held_ = false;
};

int Open(const char* path, int flags, mode_t mode) {
  if ((flags & (O_CREAT | O_TRUNC)) == 0) return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  const Hold hold{std::string(path)};
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  if (hold.held()) current->Named(path);
  return fd;
}

// A call that makes or removes the entry at `path`.
template <class Call>
int Change(const std::string& path, bool removes, const Call& call) {
  const Hold hold(path);
  if (hold.held() && removes) current->Gone(path);
  const int done = static_cast<int>(call());
  if (hold.held()) current->Named(path);
  return done;
}

// Reading changes nothing, so it is no call at which the power may go.
bool FailsToRead(int fd) {
  if (inside || current == nullptr) return false;
  const std::lock_guard lock(mutex);
  if (current == nullptr || !current->error) return false;
  const Inside us;
  const std::string path = PathOf(fd);
  const int error = Ours(path) ? current->error(ForgetfulFiles::Call::kRead, path) : 0;
  if (error != 0) errno = error;
  return error != 0;
}

int Sync(int fd, long call) {
  const Hold hold(fd);
  if (hold.Refuses(ForgetfulFiles::Call::kSync)) {
    const KeepError keep;
    current->Lost(fd);
    return -1;
  }
  const int done = static_cast<int>(::syscall(call, fd));
  if (done == 0 && hold.held()) current->Synced(fd);
  return done;
}

}  // namespace
}  // namespace millrace::power

// ---- what stands before libc ----
// By the calls that every kind of machine has: arm64 has those with a directory alone.

using namespace millrace::power;

extern "C" {

#define MILLRACE_OPEN(name)                     \
  int name(const char* path, int flags, ...) {  \
    mode_t mode = 0;                            \
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) { \
      va_list rest;                             \
      va_start(rest, flags);                    \
      mode = va_arg(rest, mode_t);              \
      va_end(rest);                             \
    }                                           \
    return Open(path, flags, mode);             \
  }
MILLRACE_OPEN(open)
MILLRACE_OPEN(open64)

ssize_t pread(int fd, void* data, size_t size, off_t offset) {
  if (FailsToRead(fd)) return -1;
  return ::syscall(SYS_pread64, fd, data, size, offset);
}
ssize_t pread64(int fd, void* data, size_t size, off64_t offset) { return pread(fd, data, size, offset); }
ssize_t read(int fd, void* data, size_t size) {
  if (FailsToRead(fd)) return -1;
  return ::syscall(SYS_read, fd, data, size);
}
ssize_t write(int fd, const void* data, size_t size) {
  const Hold hold(fd);
  if (hold.Refuses(ForgetfulFiles::Call::kWrite)) return -1;
  return ::syscall(SYS_write, fd, data, size);
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  const Hold hold(fd);
  if (hold.Refuses(ForgetfulFiles::Call::kWrite)) return -1;
  return ::syscall(SYS_pwrite64, fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) { return pwrite(fd, data, size, offset); }
int ftruncate(int fd, off_t length) {
  const Hold hold(fd);
  if (hold.Refuses(ForgetfulFiles::Call::kWrite)) return -1;
  return static_cast<int>(::syscall(SYS_ftruncate, fd, length));
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }
int fsync(int fd) { return Sync(fd, SYS_fsync); }
int fdatasync(int fd) { return Sync(fd, SYS_fdatasync); }
int rename(const char* from, const char* to) {
  const Hold hold{std::string(to)};
  if (hold.Refuses(ForgetfulFiles::Call::kRename)) return -1;
  if (hold.held()) current->Gone(to);
  const int done = static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
  if (hold.held()) {
    current->Named(from);
    current->Named(to);
  }
  return done;
}
int unlink(const char* path) {
  return Change(path, true, [&] { return ::syscall(SYS_unlinkat, AT_FDCWD, path, 0); });
}
int rmdir(const char* path) {
  return Change(path, true, [&] { return ::syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR); });
}
int remove(const char* path) {
  struct stat info = {};
  return ::lstat(path, &info) == 0 && S_ISDIR(info.st_mode) ? rmdir(path) : unlink(path);
}
int unlinkat(int directory, const char* name, int flags) {
  const std::string path = directory == AT_FDCWD || name[0] == '/' ? name : PathOf(directory) + "/" + name;
  return Change(path, true, [&] { return ::syscall(SYS_unlinkat, directory, name, flags); });
}
int mkdir(const char* path, mode_t mode) {
  return Change(path, false, [&] { return ::syscall(SYS_mkdirat, AT_FDCWD, path, mode); });
}
}
