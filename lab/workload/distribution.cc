// SPDX-License-Identifier: Apache-2.0
#include "lab/workload/distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace millrace::sim {
namespace {

double StandardNormal(Random& random) {  // by Box and Muller's method
  const double radius = std::sqrt(-2 * std::log1p(-random.Unit()));
  return radius * std::cos(2 * std::numbers::pi * random.Unit());
}

// By the method of Marsaglia and Tsang (2000), with a scale of 1. For a shape below 1 it draws with the shape one
// higher.
double StandardGamma(double shape, Random& random) {
  if (shape < 1) {
    const double higher = StandardGamma(shape + 1, random);
    return higher * std::pow(1 - random.Unit(), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = StandardNormal(random), v = std::pow(1 + c * x, 3), u = 1 - random.Unit();
    if (v > 0 && std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

Distribution Distribution::Zipf(double exponent, double least, double most) {
  Distribution zipf{Kind::kZipf, exponent, std::floor(least), std::floor(most), {}};
  double sum = 0;
  for (double x = zipf.b; x <= zipf.c; ++x) zipf.values.push_back(sum += std::pow(x, -exponent));
  return zipf;
}

double Distribution::Draw(Random& random) const {
  switch (kind) {
    case Kind::kConstant:
      return a;
    case Kind::kUniform:
      return a + (b - a) * random.Unit();
    case Kind::kExponential:
      return -a * std::log1p(-random.Unit());
    case Kind::kNormal:
      return std::max(0.0, a + b * StandardNormal(random));
    case Kind::kLogNormal:
      return a * std::exp(b * StandardNormal(random));
    case Kind::kGamma: {
      if (a <= 0 || b <= 0) return a;
      const double shape = a / b * (a / b);
      return StandardGamma(shape, random) * (a / shape);
    }
    case Kind::kChoice:
      return values[random.Below(values.size())];
    case Kind::kZipf: {
      const auto at = std::upper_bound(values.begin(), values.end(), random.Unit() * values.back());
      return b + static_cast<double>(std::min<std::ptrdiff_t>(at - values.begin(), std::ssize(values) - 1));
    }
  }
  return a;
}

}  // namespace millrace::sim
