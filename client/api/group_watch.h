// GroupWatch notices a group of keys that comes back after others: its records would go to several calls of Reduce. It
// remembers a sample of the groups by their hashes, so that any number of groups costs the same memory: all of them as
// long as there are few, and then every second, fourth... of them by hash, as in distinct sampling (P. B. Gibbons,
// "Distinct Sampling for Highly-Accurate Answers to Distinct Values Queries", VLDB 2001). What it notices is so; groups
// that come back are mostly many, and one that is sampled is enough.
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "base/status.h"

namespace millrace::internal {

class GroupWatch {
 public:
  // `most` is how many groups are remembered.
  explicit GroupWatch(std::size_t most = 8192) : most_(most) {}

  // Takes in that a group begins. Returns false if it has been there before, as status() says then.
  bool Begin(std::string_view group);
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::uint64_t groups() const { return groups_; }  // begun so far

 private:
  const std::size_t most_;
  std::unordered_set<std::uint64_t> seen_;  // hashes whose bits in mask_ are 0
  std::uint64_t mask_ = 0;
  std::uint64_t groups_ = 0;
  Status status_;
};

}  // namespace millrace::internal
