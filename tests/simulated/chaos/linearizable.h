// Checks whether the clients' observations of one path are possible in some order that agrees with the times of their
// calls. This is the check of Wing and Gong ("Testing and verifying concurrent objects", 1993) with the memory of Lowe
// ("Testing for linearizability", 2017), for a register that says whether the path exists. Thread rule: free functions,
// any thread.
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
    kSeenThere,   // changes nothing
    kSeenAbsent,  // likewise
  };
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  Kind kind = Kind::kMake;
  // Times of one clock that never shows the same time twice. An operation that was never answered may have been done at
  // any moment after it began, or not at all.
  std::uint64_t began = 0, answered = kNever;
  std::string what = {};  // for people

  [[nodiscard]] bool operator==(const PathOp&) const = default;
};

// Returns whether the operations have an order in which each finds what it says. All answered operations were done. At
// first the path does not exist.
[[nodiscard]] bool IsLinearizable(std::vector<PathOp> history);

// Returns the shortest beginning of the history, by the times of the answers, that has no such order, as lines for
// people. Requires: the whole history has none.
[[nodiscard]] std::vector<std::string> Explain(const std::vector<PathOp>& history);

}  // namespace millrace::simulated
