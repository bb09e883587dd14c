// SPDX-License-Identifier: Apache-2.0
#include "lab/measure/paired.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

namespace millrace::sim {
namespace {

// Sums that differ by less than rounding are the same sum.
constexpr double kRounding = 1e-12;

// The ways to choose the signs of the pairs, for all metrics alike: all of them if the pairs are few; else draws, of
// which the signs that were observed are one, so that no share of them is 0 (Phipson and Smyth 2010).
class SignFlips {
 public:
  SignFlips(const std::vector<std::vector<double>>& metrics, const Bootstrap& draws)
      : metrics_(metrics), pairs_(metrics.front().size()), draws_(draws) {}

  // Calls `see` with the sums of each metric under each way, the observed one first. Returns how many ways there were.
  template <class See>
  double ForEach(const See& see) const {
    std::vector<double> sums;
    for (const auto& values : metrics_) sums.push_back(std::accumulate(values.begin(), values.end(), 0.0));
    see(sums);
    return pairs_ <= kExactPairs ? ForAll(sums, see) : ForDraws(sums, see);
  }

 private:
  // Each step flips one sign (Gray code).
  template <class See>
  double ForAll(std::vector<double> sums, const See& see) const {
    const std::uint64_t ways = std::uint64_t{1} << pairs_;
    std::vector<double> sign(pairs_, 1.0);
    for (std::uint64_t way = 1; way < ways; ++way) {
      const auto pair = static_cast<std::size_t>(std::countr_zero(way));
      for (std::size_t m = 0; m < metrics_.size(); ++m) sums[m] -= 2 * sign[pair] * metrics_[m][pair];
      sign[pair] = -sign[pair];
      see(sums);
    }
    return static_cast<double>(ways);
  }
  template <class See>
  double ForDraws(std::vector<double> sums, const See& see) const {
    Random random(draws_.seed);
    for (std::uint32_t draw = 0; draw < draws_.resamples; ++draw) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::size_t pair = 0; pair < pairs_; ++pair) {
        const double sign = (random.Next() >> 63) != 0 ? 1 : -1;
        for (std::size_t m = 0; m < metrics_.size(); ++m) sums[m] += sign * metrics_[m][pair];
      }
      see(sums);
    }
    return draws_.resamples + 1.0;
  }

  const std::vector<std::vector<double>>& metrics_;
  const std::size_t pairs_;
  const Bootstrap draws_;
};

std::vector<double> WalshAverages(const std::vector<double>& values) {
  std::vector<double> averages;
  averages.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i; j < values.size(); ++j) averages.push_back((values[i] + values[j]) / 2);
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

double MedianOfSorted(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// Returns how many of the lowest and of the highest Walsh averages of n values lie outside of the interval: the
// largest k for which the signed-rank statistic is below k with probability (1 - kConfidence) / 2 at most.
std::size_t AveragesOutside(std::size_t n) {
  const std::size_t most = n * (n + 1) / 2;
  std::vector<double> probability(most + 1, 0.0);  // of the statistic: ranks 1 to n, each counted or not
  probability[0] = 1;
  for (std::size_t rank = 1, reach = 0; rank <= n; ++rank) {
    reach += rank;
    for (std::size_t sum = reach + 1; sum-- > 0;) {
      const double with_rank = sum >= rank ? probability[sum - rank] : 0;
      probability[sum] = (probability[sum] + with_rank) / 2;
    }
  }
  double below = 0;
  std::size_t k = 0;
  while (below + probability[k] <= (1 - kConfidence) / 2) below += probability[k++];
  return k;
}

int Sign(double value) { return (value > 0 ? 1 : 0) - (value < 0 ? 1 : 0); }

}  // namespace

std::vector<double> JointSignFlipP(const std::vector<std::vector<double>>& metrics, const Bootstrap& draws) {
  MILLRACE_CHECK(!metrics.empty() && !metrics.front().empty(), "a test of nothing");
  std::vector<double> scale;  // what makes a sum a statistic; 0 if all differences are 0
  for (const auto& values : metrics) {
    MILLRACE_CHECK(values.size() == metrics.front().size(), "metrics of different pairs");
    const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
    scale.push_back(squares > 0 ? 1 / std::sqrt(squares) : 0);
  }
  std::vector<double> least;  // what is as far as what was observed
  std::vector<std::uint64_t> as_far(metrics.size(), 0);
  const double ways = SignFlips(metrics, draws).ForEach([&](const std::vector<double>& sums) {
    double most = 0;
    if (least.empty()) {
      for (std::size_t m = 0; m < sums.size(); ++m) least.push_back(std::abs(sums[m]) * scale[m] - kRounding);
    }
    for (std::size_t m = 0; m < sums.size(); ++m) most = std::max(most, std::abs(sums[m]) * scale[m]);
    for (std::size_t m = 0; m < sums.size(); ++m) as_far[m] += most >= least[m] ? 1 : 0;
  });
  std::vector<double> p;
  for (const std::uint64_t count : as_far) p.push_back(static_cast<double>(count) / ways);
  return p;
}

double SignFlipP(const std::vector<double>& differences, const Bootstrap& draws) {
  return JointSignFlipP({differences}, draws).front();
}

double LeastSignFlipP(std::uint32_t pairs, const Bootstrap& draws) {
  return pairs <= kExactPairs ? std::ldexp(2.0, -static_cast<int>(pairs)) : 1 / (draws.resamples + 1.0);
}

double HodgesLehmann(const std::vector<double>& differences) {
  MILLRACE_CHECK(!differences.empty(), "a median of nothing");
  return MedianOfSorted(WalshAverages(differences));
}

std::optional<Estimate> HodgesLehmannInterval(const std::vector<double>& differences) {
  if (differences.size() < kFewestForSignificance) return std::nullopt;
  const std::vector<double> averages = WalshAverages(differences);
  const std::size_t outside = AveragesOutside(differences.size());
  MILLRACE_CHECK(outside >= 1, "an interval without an end");
  return Estimate{MedianOfSorted(averages), averages[outside - 1], averages[averages.size() - outside]};
}

std::optional<double> KendallTau(const std::vector<double>& a, const std::vector<double>& b) {
  MILLRACE_CHECK(a.size() == b.size(), "rankings of different things");
  double agree = 0, differ_in_a = 0, differ_in_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const int in_a = Sign(a[i] - a[j]), in_b = Sign(b[i] - b[j]);
      agree += in_a * in_b;
      differ_in_a += std::abs(in_a);
      differ_in_b += std::abs(in_b);
    }
  }
  if (differ_in_a == 0 || differ_in_b == 0) return std::nullopt;
  return agree / std::sqrt(differ_in_a * differ_in_b);
}

}  // namespace millrace::sim
