// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/python_watch.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/rpc/task_group.h"

namespace millrace::worker {
namespace {

constexpr kj::Duration kLookEvery = 5 * kj::MINUTES;
constexpr int kMostLinks = 40;  // as the kernel follows
constexpr std::size_t kLongest = 255;

bool NamesVersion(const std::string& path) {
  constexpr std::string_view kBegin = "python3.";
  constexpr std::size_t kMostDigits = 3;
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string_view digits = std::string_view(name).substr(std::min(name.size(), kBegin.size()));
  return name.starts_with(kBegin) && !digits.empty() && digits.size() <= kMostDigits &&
         digits.find_first_not_of("0123456789") == digits.npos;
}

// Follows links until one has the version in its name.
std::string Follow(std::string path) {
  for (int links = 0; links < kMostLinks; ++links) {
    if (NamesVersion(path)) return path.size() <= kLongest ? path : std::string();
    char target[PATH_MAX];
    const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
    if (size <= 0 || size == ssize_t{sizeof target}) return {};
    const std::string to(target, static_cast<std::size_t>(size));
    path = to[0] == '/' ? to : path.substr(0, path.rfind('/') + 1) + to;
  }
  return {};
}

bool Below(const std::string& path, const std::string& place) {
  return path.starts_with(place) && (path.size() == place.size() || place.ends_with('/') || path[place.size()] == '/');
}

// Returns the path without links; empty if it leads nowhere.
std::string RealPath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? std::string() : real.string();
}

bool InView(const std::string& path, const TaskView& view) {
  return !view.places || std::ranges::any_of(*view.places, [&path](const std::string& place) {
    const std::string real = RealPath(place);
    return Below(path, place) || (!real.empty() && Below(path, real));
  });
}

// Others may pass through each directory above the path.
bool OpenToOthers(const std::string& path) {
  for (std::size_t end = path.rfind('/'); end != path.npos; end = end == 0 ? path.npos : path.rfind('/', end - 1)) {
    struct stat info = {};
    if (::stat(path.substr(0, std::max<std::size_t>(end, 1)).c_str(), &info) != 0 || (info.st_mode & S_IXOTH) == 0)
      return false;
  }
  return true;
}

bool TasksRun(const std::string& program, const TaskView& view) {
  struct stat info = {};
  if (::stat(program.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const std::string real = RealPath(program);
  if (real.empty() || !InView(program, view) || !InView(real, view)) return false;
  if (!view.own_users) return ::access(program.c_str(), X_OK) == 0;
  return (info.st_mode & S_IXOTH) != 0 && OpenToOthers(program) && OpenToOthers(real);
}

}  // namespace

std::string FindPython(const std::string& path, const TaskView& view) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string program = path.substr(begin, end - begin) + "/python3";
    begin = end + 1;
    // A directory that is not absolute means another one to each task.
    if (program[0] == '/' && program.size() <= kLongest + 1 && TasksRun(program, view)) return Follow(program);
  }
  return {};
}

PythonWatch::PythonWatch(kj::Timer& timer, rpc::Background& background, std::string path, TaskView view)
    : timer_(timer), background_(background), path_(std::move(path)), view_(std::move(view)) {
  Look();
}

void PythonWatch::Look() {
  const auto seen = std::make_shared<std::string>();
  background_.Run(
      [seen, path = path_, view = view_] { *seen = FindPython(path, view); },
      rpc::WhileAlive(self_, [seen](PythonWatch& watch) {
        watch.found_ = *seen;
        watch.next_ =
            watch.timer_.afterDelay(kLookEvery).then([&watch] { watch.Look(); }).eagerlyEvaluate([](kj::Exception&&) {
            });
      }));
}

}  // namespace millrace::worker
