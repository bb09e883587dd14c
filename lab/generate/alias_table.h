// AliasTable draws i with the probability weight[i] / sum in constant time, by one random number and one look-up
// (Walker, "An efficient method for generating discrete random variables with general distributions", 1977; the table
// is built as Vose describes, 1991). Probabilities are exact to 2^-32 of the mean. Thread rule: constant: any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace millrace::generate {

class AliasTable {
 public:
  // Requires: the weights are positive, and there are fewer than 2^32.
  explicit AliasTable(const std::vector<double>& weights);

  // Returns the i that `random`, which is 64 uniform bits, draws.
  [[nodiscard]] std::uint32_t Draw(std::uint64_t random) const {
    const auto i = static_cast<std::uint32_t>(((random >> 32) * cells_.size()) >> 32);
    const Cell cell = cells_[i];
    return static_cast<std::uint32_t>(random) < cell.own ? i : cell.other;
  }

 private:
  struct Cell {
    std::uint32_t own;  // in units of 2^-32: the part of the cell that is its own
    std::uint32_t other;
  };
  std::vector<Cell> cells_;
};

}  // namespace millrace::generate
