// SPDX-License-Identifier: Apache-2.0
// AttemptRunner runs the attempts of a job that is set up: it opens their inputs, calls the job's code, and finishes
// the output.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "client/job/attempt.h"
#include "client/job/task_context.h"
#include "client/process/storage.h"
#include "client/process/task_messages.h"
#include "worker/task/run/compress_choice.h"

namespace millrace {

class AttemptRunner {
 public:
  // Requires: all arguments outlive this.
  AttemptRunner(const JobBinding& binding, const SetUp& set_up, Storage& storage, Random& random)
      : binding_(binding), set_up_(set_up), storage_(storage), random_(random) {}

  // Runs a map, which leaves the run file or, in a job without reduces, its output. Returns the files of that output,
  // the part file first. An exception of user code is returned as kInvalid.
  [[nodiscard]] Result<std::vector<TaskOutput>> Map(const MapLaunch& launch, TaskContext& context);
  // Runs a map as Map does, except that a job without reduces writes to `output`, which the caller finishes; no file of
  // the file system is made. Requires: `output` is given if the job has no reduces.
  [[nodiscard]] Status MapTo(const MapLaunch& launch, TaskContext& context, OutputFiles* output);
  // Runs a reduce. Every segment is checked against its checksum before its first record is used.
  [[nodiscard]] Result<std::vector<TaskOutput>> Reduce(const ReduceLaunch& launch, TaskContext& context);

 private:
  // Returns the function that decides whether the map's run is compressed, or an empty one if that is not decided here.
  std::function<bool(std::string_view, std::uint64_t)> ChooserFor(const MapLaunch& launch, const EngineOptions& engine);

  const JobBinding& binding_;
  const SetUp& set_up_;
  Storage& storage_;
  Random& random_;
  run::CompressChoice compress_choice_;
  std::uint64_t last_map_keys_ = 0;  // in the run file of the last map; the next will have about as many
};

}  // namespace millrace
