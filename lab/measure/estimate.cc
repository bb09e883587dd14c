// SPDX-License-Identifier: Apache-2.0
#include "lab/measure/estimate.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "base/check.h"
#include "base/random.h"

namespace millrace::sim {
namespace {

// The least deviation of a resample, as a share of the deviation of the values.
constexpr double kLeastDeviation = 0.25;

double StandardError(const std::vector<double>& values) {
  return Deviation(values) / std::sqrt(static_cast<double>(values.size()));
}

bool AllAlike(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

// Returns t* of resamples, in rising order. Requires: the values are not all alike.
std::vector<double> ResampledT(const std::vector<double>& values, const Bootstrap& bootstrap) {
  const double mean = Mean(values);
  const double least = kLeastDeviation * StandardError(values);
  Random random(bootstrap.seed);
  std::vector<double> resample(values.size());
  std::vector<double> t;
  t.reserve(bootstrap.resamples);
  while (t.size() < bootstrap.resamples) {
    for (double& value : resample) value = values[random.Below(values.size())];
    t.push_back((Mean(resample) - mean) / std::max(StandardError(resample), least));
  }
  std::sort(t.begin(), t.end());
  return t;
}

}  // namespace

double Mean(const std::vector<double>& values) {
  MILLRACE_CHECK(!values.empty(), "a mean of nothing");
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Deviation(const std::vector<double>& values) {
  MILLRACE_CHECK(values.size() >= 2, "a deviation of fewer than two values");
  const double mean = Mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

Estimate MeanByT(const std::vector<double>& values) {
  if (AllAlike(values)) return {values.front(), values.front(), values.front()};
  const boost::math::students_t distribution(static_cast<double>(values.size() - 1));
  const double reach = boost::math::quantile(distribution, (1 + kConfidence) / 2) * StandardError(values);
  const double mean = Mean(values);
  return {mean, mean - reach, mean + reach};
}

Estimate MeanByBootstrapT(const std::vector<double>& values, const Bootstrap& bootstrap) {
  if (AllAlike(values)) return {values.front(), values.front(), values.front()};
  const std::vector<double> t = ResampledT(values, bootstrap);
  const double tail = (1 - kConfidence) / 2;
  const auto rank = static_cast<std::size_t>(std::lround(tail * static_cast<double>(t.size() + 1)));
  MILLRACE_CHECK(rank >= 1, "too few resamples for the confidence");
  const double mean = Mean(values);
  const double error = StandardError(values);
  return {mean, mean - t[t.size() - rank] * error, mean - t[rank - 1] * error};
}

Estimate RatioByBootstrapT(const std::vector<double>& ratios, const Bootstrap& bootstrap) {
  std::vector<double> logs;
  logs.reserve(ratios.size());
  for (const double ratio : ratios) {
    MILLRACE_CHECK(ratio > 0, "a ratio that is not above 0");
    logs.push_back(std::log(ratio));
  }
  const Estimate log = MeanByBootstrapT(logs, bootstrap);
  return {std::exp(log.value), std::exp(log.low), std::exp(log.high)};
}

}  // namespace millrace::sim
