#include "master/jobs/unused_executables.h"

#include <utility>

namespace millrace::master {

std::vector<std::string> UnusedExecutables::Due(const std::vector<std::string>& present,
                                                const std::set<std::string>& needed, Micros now, Micros keep) {
  std::vector<std::string> due;
  std::map<std::string, Micros> unused;
  for (const std::string& path : present) {
    if (needed.contains(path)) continue;
    const auto known = unused_since_.find(path);
    const Micros since = known == unused_since_.end() ? now : known->second;
    unused.emplace(path, since);
    if (now - since >= keep) due.push_back(path);
  }
  unused_since_ = std::move(unused);
  return due;
}

}  // namespace millrace::master
