#include "lab/papers/draw.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace millrace::sim::experiments {

double Uniform(Random* random, double low, double high) { return low + (high - low) * random->Unit(); }

double Exponential(Random* random, double mean) { return -mean * std::log(1 - random->Unit()); }

double Gaussian(Random* random, double mean, double deviation) {
  const double radius = std::sqrt(-2 * std::log(1 - random->Unit()));
  return mean + deviation * radius * std::cos(2 * std::numbers::pi * random->Unit());
}

std::vector<std::uint32_t> Choose(Random* random, std::uint32_t n, std::uint32_t count) {
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0U);
  for (std::uint32_t i = 0; i < count; ++i) std::swap(all[i], all[i + random->Below(n - i)]);
  all.resize(count);
  return all;
}

Micros Seconds(double seconds) { return static_cast<Micros>(std::llround(seconds * 1e6)); }

}  // namespace millrace::sim::experiments
