// SPDX-License-Identifier: Apache-2.0
#include "lab/report/numbers.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace millrace::compare {

using Json = nlohmann::ordered_json;

Json Exact(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return std::strtod(text, nullptr);
}

Json Rounded(double value) {
  constexpr double kPlaces = 1e4;
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * kPlaces) / kPlaces;
}

Json Seconds(Micros time) {
  constexpr double kMillis = 1e3;
  return std::round(static_cast<double>(time) / kMillis) / kMillis;
}

Json ToJson(const sim::Estimate& estimate) {
  return {{"value", Exact(estimate.value)}, {"low", Exact(estimate.low)}, {"high", Exact(estimate.high)}};
}

}  // namespace millrace::compare
