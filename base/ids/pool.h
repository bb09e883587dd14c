// PoolOf gives the pool of a job, for displays, counts and checks of rights. Thread rule: any thread.
#pragma once

#include <string>

namespace millrace {

// Returns the pool of a job: the one that it names, or else the one named after its user.
[[nodiscard]] inline const std::string& PoolOf(const std::string& named, const std::string& user) {
  return named.empty() ? user : named;
}

}  // namespace millrace
