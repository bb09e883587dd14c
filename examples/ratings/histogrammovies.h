// SPDX-License-Identifier: Apache-2.0
// Counts movies by their average rating, in steps of a half. It writes a line "bin TAB count", where the movies of bin
// b have an average from b - 0.5 up to, but not including, b, as in the PUMA suite. Movies without ratings are left
// out; lines of another form are counted (ratings.bad_lines) and left out.
#pragma once

#include <cstdint>
#include <string>

#include "client/api/job.h"
#include "examples/ratings/ratings.h"

namespace millrace::examples {

struct HistogramMovies {
  using Key = std::uint64_t;  // the bin, in halves
  using Value = std::uint64_t;

  explicit HistogramMovies(TaskContext& context) : bad_lines_(context.counter("ratings", "bad_lines")) {}

  void Map(std::string_view line, auto& emit) {
    if (!ParseMovie(line, &movie_)) {
      ++bad_lines_;
      return;
    }
    if (movie_.ratings.empty()) return;
    std::uint64_t sum = 0;
    for (const Rating& rating : movie_.ratings) sum += rating.rating;
    emit(2 * sum / movie_.ratings.size() + 1, 1);
  }

  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }

  void Reduce(std::uint64_t halves, auto& counts, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    emit(std::to_string(halves / 2) + (halves % 2 == 0 ? ".0" : ".5"), sum);
  }

 private:
  Counter& bad_lines_;
  Movie movie_;
};

}  // namespace millrace::examples
