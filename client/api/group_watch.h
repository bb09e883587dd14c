// GroupWatch notices a group of keys that comes back after others, since its records would go to several calls of
// Reduce. It remembers a sample of the groups by their hashes: all groups while there are few, and then every second,
// fourth and so on by hash, as in distinct sampling (P. B. Gibbons, "Distinct Sampling for Highly-Accurate Answers to
// Distinct Values Queries", VLDB 2001). So any number of groups costs the same memory. Every group that it reports has
// come back. It may miss others, but if one group comes back, mostly many do, and one in the sample is enough.
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
  // `most` is the largest number of groups that are remembered.
  explicit GroupWatch(std::size_t most = 8192) : most_(most) {}

  // Notes that a group begins. Returns false if the group came before; status() is then a failure.
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
