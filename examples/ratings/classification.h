// SPDX-License-Identifier: Apache-2.0
// Assigns each movie to the given cluster whose centroid is closest (examples/ratings/centroids.h), and writes a line
// "cluster TAB movie" for it. Lines of another form are left out and counted (ratings.bad_lines).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "client/api/job.h"
#include "examples/ratings/centroids.h"

namespace millrace::examples {

struct Classification {
  using Key = std::uint32_t;
  using Value = std::uint32_t;

  static void Options(JobOptions& options) {
    options.Text("classification.centroids", "", "file or directory of the file system with the centroids");
    options.Require("classification.centroids");
  }

  explicit Classification(TaskContext& context) : bad_lines_(context.counter("ratings", "bad_lines")) {}

  Status Start(TaskContext& context) {
    if (context.facts().attempt.task.reduce()) return Status::Ok();
    MILLRACE_ASSIGN(const std::string text, context.ReadFile(context.options().text("classification.centroids")));
    MILLRACE_ASSIGN(Centroids centroids, Centroids::Parse(text));
    centroids_ = std::move(centroids);
    return Status::Ok();
  }

  void Map(std::string_view line, auto& emit) {
    if (ParseMovie(line, &movie_)) {
      emit(centroids_->Nearest(movie_), movie_.id);
    } else {
      ++bad_lines_;
    }
  }

 private:
  Counter& bad_lines_;
  std::optional<Centroids> centroids_;
  Movie movie_;
};

}  // namespace millrace::examples
