// SPDX-License-Identifier: Apache-2.0
// Histogram counts values by size, as Prometheus does: for each bound, how many values were at most as large as it.
// Thread rule: one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace millrace {

class Histogram {
 public:
  // Requires: the bounds rise.
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void Add(double value) {
    ++counts_[static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
    sum_ += value;
  }

  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  // Returns how many values lie above the bound before and not above this one; the last count has no bound.
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
  [[nodiscard]] double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

}  // namespace millrace
