// SPDX-License-Identifier: Apache-2.0
// Checks whether the clients' observations of one path fit some order of their calls that agrees with the times of the
// calls. This is the check of Wing and Gong ("Testing and verifying concurrent objects", 1993) for a register that
// records whether the path exists. It remembers visited states, as Lowe's does ("Testing for linearizability", 2017).
// Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace millrace::simulated {

struct PathOp {
  enum class Kind : std::uint8_t {
    kMake,        // the path exists afterwards, whether or not it did before
    kTake,        // the path existed, and does not afterwards
    kSeenThere,   // the path existed; changes nothing
    kSeenAbsent,  // the path did not exist; changes nothing
  };
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  Kind kind = Kind::kMake;
  // Times of one clock, which never shows the same time twice. An operation that was never answered may have been done
  // at any moment after it began, or not at all.
  std::uint64_t began = 0, answered = kNever;
  std::string what = {};  // for people

  [[nodiscard]] bool operator==(const PathOp&) const = default;
};

// Returns true if the operations have an order in which each one finds the path in the state that its kind requires.
// All answered operations were done. At first the path does not exist.
[[nodiscard]] bool IsLinearizable(std::vector<PathOp> history);

// Returns the shortest beginning of the history that has no such order, as lines for people. A beginning consists of
// the operations that were answered first. Requires: the whole history has no such order.
[[nodiscard]] std::vector<std::string> Explain(const std::vector<PathOp>& history);

}  // namespace millrace::simulated
