#include "schedulers/sim/statistics/paired.h"

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

double SumOfMagnitudes(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0, [](double sum, double v) { return sum + std::abs(v); });
}

// Each step flips one sign (Gray code).
double ExactSignFlipP(std::vector<double> values, double least) {
  const std::uint64_t ways = std::uint64_t{1} << values.size();
  double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::uint64_t as_far = std::abs(sum) >= least ? 1 : 0;
  for (std::uint64_t way = 1; way < ways; ++way) {
    double& value = values[static_cast<std::size_t>(std::countr_zero(way))];
    sum -= 2 * value;
    value = -value;
    as_far += std::abs(sum) >= least ? 1 : 0;
  }
  return static_cast<double>(as_far) / static_cast<double>(ways);
}

// The observed signs count as one of the draws, so that p is never 0 (Phipson and Smyth 2010).
double DrawnSignFlipP(const std::vector<double>& values, double least, const Bootstrap& draws) {
  Random random(draws.seed);
  std::uint64_t as_far = 1;
  for (std::uint32_t draw = 0; draw < draws.resamples; ++draw) {
    double sum = 0;
    for (const double value : values) sum += (random.Next() >> 63) != 0 ? value : -value;
    as_far += std::abs(sum) >= least ? 1 : 0;
  }
  return static_cast<double>(as_far) / (draws.resamples + 1.0);
}

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

double SignFlipP(const std::vector<double>& differences, const Bootstrap& draws) {
  MILLRACE_CHECK(!differences.empty(), "a test of nothing");
  const double magnitude = SumOfMagnitudes(differences);
  if (magnitude == 0) return 1;
  const double sum = std::accumulate(differences.begin(), differences.end(), 0.0);
  const double least = std::abs(sum) - kRounding * magnitude;
  if (differences.size() <= kExactPairs) return ExactSignFlipP(differences, least);
  return DrawnSignFlipP(differences, least, draws);
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

std::vector<double> HolmAdjusted(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, p[order[i]] * static_cast<double>(p.size() - i));
    adjusted[order[i]] = std::min(least, 1.0);
  }
  return adjusted;
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
