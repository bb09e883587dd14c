#include "lab/generate/alias_table.h"

#include <numeric>

#include "base/check.h"

namespace millrace::generate {

AliasTable::AliasTable(const std::vector<double>& weights) : cells_(weights.size()) {
  MILLRACE_CHECK(!weights.empty(), "there is nothing to draw from");
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  std::vector<double> left(weights);
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t i = 0; i < left.size(); ++i) {
    left[i] /= mean;
    (left[i] < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::uint32_t low = small.back(), high = large.back();
    small.pop_back();
    cells_[low] = {static_cast<std::uint32_t>(left[low] * 0x1p32), high};
    left[high] -= 1 - left[low];
    if (left[high] >= 1) continue;
    large.pop_back();
    small.push_back(high);
  }
  // An entry that rounding leaves over fills its whole cell.
  for (const std::uint32_t i : small) cells_[i] = {~std::uint32_t{0}, i};
  for (const std::uint32_t i : large) cells_[i] = {~std::uint32_t{0}, i};
}

}  // namespace millrace::generate
