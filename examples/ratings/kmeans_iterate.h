// SPDX-License-Identifier: Apache-2.0
// Runs rounds of kmeans until the centroids stay as they are, and then assigns each movie to its cluster. OUTPUT has
// two directories: `centroids`, of the last round, and `members` (classification.h).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "client/api/pipeline.h"
#include "examples/ratings/classification.h"
#include "examples/ratings/kmeans.h"

namespace millrace::examples {

struct KMeansIterate {
  using Pipeline = millrace::Pipeline<KMeans, Classification>;

  static void Options(JobOptions& options) {
    options.Text("kmeans.centroids", "", "file or directory with the first centroids: some lines of the input, say");
    options.Require("kmeans.centroids");
    options.Integer("kmeans.rounds", 20, 1, 100'000, "the most rounds");
  }

  static Status Drive(Pipeline& pipeline) {
    std::string centroids = pipeline.options().text("kmeans.centroids");
    const std::int64_t most = pipeline.options().integer("kmeans.rounds");
    std::int64_t round = 0, clusters = -1;
    for (bool settled = false; round < most && !settled;) {
      const std::string name = "round-" + std::to_string(++round);
      MILLRACE_ASSIGN(const StepResult made, pipeline.Run<KMeans>(name, pipeline.inputs(), pipeline.Temporary(name),
                                                                  {.parameters = {{"kmeans.centroids", centroids}}}));
      // A cluster that has lost all its members is a change as well.
      const std::int64_t before = std::exchange(clusters, made.counter("kmeans", "clusters"));
      settled = made.counter("kmeans", "changed") == 0 && clusters == before;
      centroids = made.output;
      if (settled || round == most)
        std::fprintf(stderr, "%s after %lld rounds\n", settled ? "settled" : "not settled",
                     static_cast<long long>(round));
    }
    const std::string last = pipeline.output() + "/centroids";
    MILLRACE_TRY(pipeline.Keep(centroids, last));
    return pipeline
        .Run<Classification>("members", pipeline.inputs(), pipeline.output() + "/members",
                             {.parameters = {{"classification.centroids", last}}})
        .status();
  }
};

}  // namespace millrace::examples
