// SPDX-License-Identifier: Apache-2.0
// Counts ratings and writes a line "rating TAB count" for each value. Lines of another form are counted
// (ratings.bad_lines) and left out.
#pragma once

#include <array>
#include <cstdint>

#include "client/api/job.h"
#include "examples/ratings/ratings.h"

namespace millrace::examples {

struct HistogramRatings {
  using Key = std::uint32_t;
  using Value = std::uint64_t;

  explicit HistogramRatings(TaskContext& context) : bad_lines_(context.counter("ratings", "bad_lines")) {}

  void Map(std::string_view line, auto& emit) {
    if (!ParseMovie(line, &movie_)) {
      ++bad_lines_;
      return;
    }
    for (const Rating& rating : movie_.ratings) {
      if (rating.rating < small_.size()) {
        ++small_[rating.rating];
      } else {
        emit(rating.rating, 1);
      }
    }
  }
  void FinishMap(auto& emit) {
    for (std::uint32_t rating = 0; rating < small_.size(); ++rating) {
      if (small_[rating] > 0) emit(rating, small_[rating]);
    }
  }

  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }

 private:
  Counter& bad_lines_;
  Movie movie_;
  std::array<std::uint64_t, 16> small_{};  // the counts of the usual ratings
};

}  // namespace millrace::examples
