// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/sandbox/confine.h"

namespace millrace::sandbox {
namespace {

// The interface of the kernel (landlock(7)), of which the build machine may have an older version.
struct RulesetAttributes {
  std::uint64_t files = 0, network = 0, scoped = 0;
};
struct [[gnu::packed]] PathAttributes {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};
constexpr std::uint32_t kVersionFlag = 1;
constexpr int kPathRule = 1;
constexpr std::uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadDirectory = 1 << 3;
constexpr std::uint64_t kTruncate = 1 << 14, kDeviceControl = 1 << 15;
constexpr std::uint64_t kRead = kExecute | kReadFile | kReadDirectory;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceControl;
constexpr std::uint64_t kScopes = 3;  // abstract unix sockets, signals

Status Failed(const std::string& what) { return FromErrno(errno, "landlock: cannot " + what); }

// Returns every right on files that a kernel of this version knows.
std::uint64_t RightsOf(long version) {
  std::uint64_t rights = (1 << 13) - 1;
  if (version >= 2) rights |= 1 << 13;  // moves between directories
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceControl;
  return rights;
}

class Ruleset {
 public:
  Ruleset(Fd fd, std::uint64_t known) : fd_(std::move(fd)), known_(known) {}
  // Does nothing for a path that does not exist.
  Status Allow(const std::string& path, std::uint64_t rights) {
    const Fd place(open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!place.valid()) return errno == ENOENT || errno == EACCES ? Status::Ok() : Failed("open " + path);
    struct stat info = {};
    if (fstat(place.get(), &info) != 0) return Failed("look at " + path);
    PathAttributes rule;
    rule.allowed = rights & known_ & (S_ISDIR(info.st_mode) ? ~std::uint64_t{0} : kOfFiles);
    rule.parent = place.get();
    if (syscall(SYS_landlock_add_rule, fd_.get(), kPathRule, &rule, 0) != 0) return Failed("allow " + path);
    return Status::Ok();
  }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::uint64_t known() const { return known_; }

 private:
  Fd fd_;
  std::uint64_t known_;
};

// Without a view of its own a hidden directory below `path` is left out by allowing what lies beside it.
Status AllowBeside(Ruleset& rules, const std::string& path, const LaunchOrder& order) {
  const bool apart = std::any_of(order.hidden.begin(), order.hidden.end(),
                                 [&](const std::string& hidden) { return hidden.starts_with(path + "/"); });
  if (!apart) return rules.Allow(path, kRead);
  const auto names = ListDirectory(path);
  if (!names.ok()) return Status::Ok();
  for (const std::string& name : *names) {
    const std::string below = path + "/" + name;
    if (std::find(order.hidden.begin(), order.hidden.end(), below) != order.hidden.end()) continue;
    MILLRACE_TRY(AllowBeside(rules, below, order));
  }
  return Status::Ok();
}

}  // namespace

Status EnterLandlock(const LaunchOrder& order) {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionFlag);
  if (version < 1) return Failed("ask the kernel for its version");
  RulesetAttributes attributes;
  attributes.files = RightsOf(version);
  attributes.scoped = version >= 6 ? kScopes : 0;
  const std::size_t size = version >= 6 ? sizeof attributes : version >= 4 ? 16 : 8;
  Fd fd(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!fd.valid()) return Failed("make rules");
  Ruleset rules(std::move(fd), attributes.files);
  if (order.own_view) {
    MILLRACE_TRY(rules.Allow("/", kRead));
  } else {
    for (const std::string& path : order.readable) MILLRACE_TRY(AllowBeside(rules, path, order));
    MILLRACE_TRY(rules.Allow("/proc", kRead));
    MILLRACE_TRY(rules.Allow("/sys/devices/system/cpu", kRead));
    MILLRACE_TRY(rules.Allow("/dev", kRead));
  }
  for (const std::string& path : order.writable) MILLRACE_TRY(rules.Allow(path, rules.known()));
  if (order.own_view) MILLRACE_TRY(rules.Allow("/tmp", rules.known()));
  if (order.own_view) MILLRACE_TRY(rules.Allow("/dev", rules.known()));
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/shm"})
    MILLRACE_TRY(rules.Allow(device, rules.known()));
  MILLRACE_TRY(rules.Allow("/proc/self", kRead | kWriteFile));
  if (syscall(SYS_landlock_restrict_self, rules.fd(), 0) != 0) return Failed("limit itself");
  return Status::Ok();
}

}  // namespace millrace::sandbox
