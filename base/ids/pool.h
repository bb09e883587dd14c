// The pool of a job, wherever one is shown, counted or asked for rights. Thread rule: any thread.
#pragma once

#include <string>

namespace millrace {

// Returns the pool that a job is in: the one that it names, else its user's.
[[nodiscard]] inline const std::string& PoolOf(const std::string& named, const std::string& user) {
  return named.empty() ? user : named;
}

}  // namespace millrace
