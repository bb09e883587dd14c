// SPDX-License-Identifier: Apache-2.0
// Distribution: random quantities of a workload file. Thread rule: const calls from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace millrace::sim {

struct Distribution {
  enum class Kind : std::uint8_t {
    kConstant,     // a
    kUniform,      // a to b
    kExponential,  // mean a
    kNormal,       // mean a, deviation b; values below 0 become 0
    kLogNormal,    // median a, deviation b of the logarithm
    kZipf,         // whole numbers b to c, x with a probability proportional to x^-a
    kGamma,        // mean a, deviation b: between equal gaps (b = 0), exponential ones (b = a) and bursts (b > a)
    kChoice,       // one of the values, all equally likely
  };
  Kind kind = Kind::kConstant;
  double a = 0, b = 0, c = 0;
  std::vector<double> values;  // of kChoice; of kZipf the cumulated weights (MakeZipf)

  static Distribution Constant(double value) { return {Kind::kConstant, value, 0, 0, {}}; }
  // Requires: 1 <= least <= most <= least + 10,000,000.
  static Distribution Zipf(double exponent, double least, double most);

  [[nodiscard]] double Draw(Random& random) const;
};

}  // namespace millrace::sim
