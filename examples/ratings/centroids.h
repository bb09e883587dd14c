// SPDX-License-Identifier: Apache-2.0
// Centroids holds the middles of clusters of movies, and finds the one that is closest to a movie by the cosine of the
// angle between their vectors, which have an entry for each user. The line of a centroid looks like that of a movie,
// "cluster:user_weight,...", with weights below 2^64 in place of ratings, so that a movie can serve as the first
// centroid. Thread rule: one thread, because Nearest uses memory of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/api/job.h"
#include "examples/ratings/ratings.h"

namespace millrace::examples {

class Centroids {
 public:
  // Reads centroids. Returns kInvalid if a line has another form, if a cluster occurs twice, or if there are none.
  static Result<Centroids> Parse(std::string_view text);

  // Returns the number of the closest cluster; of equally close ones, the lowest number. For a movie that has no users
  // in common with any cluster, returns the lowest number of all.
  [[nodiscard]] std::uint32_t Nearest(const Movie& movie) {
    std::ranges::fill(products_, 0);
    for (const Rating& rating : movie.ratings) {
      const auto found = weights_.find(rating.user);
      if (found == weights_.end()) continue;
      for (const auto& [cluster, weight] : found->second) products_[cluster] += weight * rating.rating;
    }
    std::size_t best = 0;
    double closest = 0;
    for (std::size_t i = 0; i < products_.size(); ++i) {
      // times the movie's norm, which is the same for all
      const double cosine = static_cast<double>(products_[i]) / norms_[i];
      if (cosine > closest) {
        closest = cosine;
        best = i;
      }
    }
    return ids_[best];
  }

 private:
  struct Weight {
    std::uint32_t user = 0;
    std::uint64_t weight = 0;
  };
  struct Centroid {
    std::uint32_t id = 0;
    std::vector<Weight> weights;
  };
  static bool ParseLine(std::string_view line, Centroid* centroid);
  void Add(const Centroid& centroid);

  std::vector<std::uint32_t> ids_;  // in rising order
  std::vector<double> norms_;
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint64_t>>> weights_;  // by user
  std::vector<std::uint64_t> products_;
};

inline bool Centroids::ParseLine(std::string_view line, Centroid* centroid) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const char* at = line.data();
  const char* const end = at + line.size();
  if (!internal::TakeNumber(&at, end, ':', &centroid->id)) return false;
  if (at != end && *at == ' ') ++at;
  while (at != end) {
    Weight weight;
    if (!internal::TakeNumber(&at, end, '_', &weight.user)) return false;
    if (!internal::TakeNumber(&at, end, '\0', &weight.weight)) return false;
    centroid->weights.push_back(weight);
    if (at != end && *at++ != ',') return false;
  }
  return true;
}

inline void Centroids::Add(const Centroid& centroid) {
  double squares = 0;
  for (const Weight& weight : centroid.weights) {
    squares += static_cast<double>(weight.weight) * static_cast<double>(weight.weight);
    weights_[weight.user].emplace_back(static_cast<std::uint32_t>(ids_.size()), weight.weight);
  }
  ids_.push_back(centroid.id);
  norms_.push_back(squares > 0 ? std::sqrt(squares) : 1);
  products_.push_back(0);
}

inline Result<Centroids> Centroids::Parse(std::string_view text) {
  std::vector<Centroid> read;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    if (!line.empty() && !ParseLine(line, &read.emplace_back()))
      return Invalid("the line of centroids " + Quote(line) + " is not cluster:user_weight,user_weight,...");
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  }
  if (read.empty()) return Invalid("there are no centroids");
  std::ranges::sort(read, {}, &Centroid::id);
  Centroids centroids;
  for (const Centroid& centroid : read) {
    if (!centroids.ids_.empty() && centroids.ids_.back() == centroid.id)
      return Invalid("there are two centroids of cluster " + std::to_string(centroid.id));
    centroids.Add(centroid);
  }
  return centroids;
}

}  // namespace millrace::examples
