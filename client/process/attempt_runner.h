// AttemptRunner: runs the attempts of a job that is set up: opens what it reads, gives the job's code its turn, and
// finishes what it wrote.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/random.h"
#include "base/status.h"
#include "client/api/attempt.h"
#include "client/api/task_context.h"
#include "client/process/storage.h"
#include "client/process/task_messages.h"
#include "worker/task/run/compress_choice.h"

namespace millrace {

class AttemptRunner {
 public:
  // All outlive this.
  AttemptRunner(const JobBinding& binding, const SetUp& set_up, Storage& storage, Random& random)
      : binding_(binding), set_up_(set_up), storage_(storage), random_(random) {}

  // Leaves the run file, or for a job without reduces the output. What user code throws comes back as kInvalid.
  [[nodiscard]] Result<std::optional<TaskOutput>> Map(const MapLaunch& launch, TaskContext& context);
  // Checks every segment against its checksum before the first record is believed.
  [[nodiscard]] Result<std::optional<TaskOutput>> Reduce(const ReduceLaunch& launch, TaskContext& context);

 private:
  // Decides on the map's run where that is left to us, else empty.
  std::function<bool(std::string_view, std::uint64_t)> ChooserFor(const MapLaunch& launch, const EngineOptions& engine);

  const JobBinding& binding_;
  const SetUp& set_up_;
  Storage& storage_;
  Random& random_;
  run::CompressChoice compress_choice_;
  std::uint64_t last_map_keys_ = 0;  // in the run file of the last map: the next one will have about as many
};

}  // namespace millrace
