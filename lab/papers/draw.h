// The random draws of experiments, from a seeded source. Thread rule: one thread per source.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/random.h"

namespace millrace::sim::experiments {

// Returns a number that is uniform in [low, high).
[[nodiscard]] double Uniform(Random* random, double low, double high);
// Returns an exponentially distributed number with this mean.
[[nodiscard]] double Exponential(Random* random, double mean);
[[nodiscard]] double Gaussian(Random* random, double mean, double deviation);
// Returns `count` of the numbers below `n`, all equally likely, in the order drawn. Requires: count <= n.
[[nodiscard]] std::vector<std::uint32_t> Choose(Random* random, std::uint32_t n, std::uint32_t count);
template <class T>
void Shuffle(Random* random, std::vector<T>* items) {
  for (std::size_t left = items->size(); left > 1; --left) {
    std::swap((*items)[left - 1], (*items)[static_cast<std::size_t>(random->Below(left))]);
  }
}
[[nodiscard]] Micros Seconds(double seconds);

}  // namespace millrace::sim::experiments
