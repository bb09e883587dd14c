// SPDX-License-Identifier: Apache-2.0
// Makes one round of k-means over movies: each movie is assigned to the closest centroid
// (examples/ratings/centroids.h), and the new centroid of a cluster is the sum of its members' vectors, each of length
// kUnit. It writes a line "cluster:user_weight,..." for each cluster. The sums are whole numbers, so a round gives the
// same bytes whatever the splits are. The clusters have settled when the centroids stay as they are. The counter
// kmeans.changed counts the centroids whose line is not among the old ones; kmeans.clusters counts all centroids. A
// cluster that has lost all its members is gone. kmeans_iterate.h runs the rounds. Lines of another form are counted
// (ratings.bad_lines) and left out.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>

#include "client/api/job.h"
#include "examples/ratings/centroids.h"

namespace millrace::examples {

struct KMeans {
  using Key = std::uint64_t;  // cluster and user, 32 bits each
  using Value = std::uint64_t;
  static constexpr double kUnit = 1'000'000;

  static void Options(JobOptions& options) {
    options.Text("kmeans.centroids", "", "file or directory of the file system with the centroids");
    options.Require("kmeans.centroids");
  }

  explicit KMeans(TaskContext& context)
      : bad_lines_(context.counter("ratings", "bad_lines")),
        clusters_(context.counter("kmeans", "clusters")),
        changed_(context.counter("kmeans", "changed")) {}

  Status Start(TaskContext& context) {
    MILLRACE_ASSIGN(const std::string text, context.ReadFile(context.options().text("kmeans.centroids")));
    if (context.facts().attempt.task.reduce()) {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) before_.insert(line);
      return Status::Ok();
    }
    MILLRACE_ASSIGN(Centroids centroids, Centroids::Parse(text));
    centroids_ = std::move(centroids);
    return Status::Ok();
  }

  void Map(std::string_view line, auto& emit) {
    if (!ParseMovie(line, &movie_)) {
      ++bad_lines_;
      return;
    }
    double squares = 0;
    for (const Rating& rating : movie_.ratings) squares += static_cast<double>(rating.rating) * rating.rating;
    if (squares == 0) return;
    const std::uint64_t cluster = std::uint64_t{centroids_->Nearest(movie_)} << 32;
    const double norm = std::sqrt(squares);
    for (const Rating& rating : movie_.ratings)
      emit(cluster | rating.user, static_cast<std::uint64_t>(kUnit * rating.rating / norm + 0.5));
  }

  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
  // All keys of a cluster go to one reduce.
  static std::uint32_t Partition(const std::uint64_t& key, std::uint32_t partitions) {
    return static_cast<std::uint32_t>((key >> 32) % partitions);
  }

  // The keys of a cluster come one after the other.
  void Reduce(std::uint64_t key, auto& weights, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t weight : weights) sum += weight;
    if (line_.empty() || key >> 32 != cluster_) {
      FinishReduce(emit);
      cluster_ = key >> 32;
      line_ = std::to_string(cluster_) + ":";
    } else {
      line_ += ',';
    }
    Codec<std::uint32_t>::AppendText(static_cast<std::uint32_t>(key), &line_);
    line_ += '_';
    Codec<std::uint64_t>::AppendText(sum, &line_);
  }
  void FinishReduce(auto& emit) {
    if (line_.empty()) return;
    ++clusters_;
    if (!before_.contains(line_)) ++changed_;
    emit(line_);
    line_.clear();
  }

 private:
  Counter& bad_lines_;
  Counter& clusters_;
  Counter& changed_;
  std::unordered_set<std::string> before_;  // the old centroids, for a reduce
  std::optional<Centroids> centroids_;
  Movie movie_;
  std::uint64_t cluster_ = 0;
  std::string line_;
};

}  // namespace millrace::examples
