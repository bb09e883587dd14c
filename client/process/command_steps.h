// SPDX-License-Identifier: Apache-2.0
// CommandSteps runs the steps of a pipeline on a cluster, each by `millrace run`. So a step is a job like any other: it
// is prepared, watched, shown and killed by Ctrl-C in the same way.
// Thread rule: the main thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/process/dfs_source.h"
#include "client/process/pipeline.h"
#include "client/process/storage.h"

namespace millrace::internal {

class CommandSteps final : public StepRunner {
 public:
  struct Command {
    std::string millrace;                 // the program
    std::string executable;               // the pipeline's
    std::string name;                     // of the pipeline; a step's job is named NAME/STEP
    std::vector<std::string> parameters;  // NAME=VALUE for every step
    bool says = true;                     // prints a line for each step that has succeeded
  };
  // Requires: `storage` outlives this.
  CommandSteps(Command command, Storage& storage) : command_(std::move(command)), storage_(storage), input_(storage) {}

  Result<StepResult> Run(const Step& step) override;
  [[nodiscard]] Result<std::string> Read(const std::string& path) override;
  Status MakeDirectory(const std::string& path) override;
  Status Move(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;

  // The JSON that `millrace run --json` has printed for each step.
  [[nodiscard]] const nlohmann::ordered_json& jobs() const { return jobs_; }

 private:
  const Command command_;
  Storage& storage_;
  DfsInput input_;
  nlohmann::ordered_json jobs_ = nlohmann::ordered_json::array();
};

// Returns the result of a step, from the JSON that `millrace run --json` prints and its exit status. Returns kInvalid,
// with the reason, if the step has failed.
[[nodiscard]] Result<StepResult> ReadStepReport(std::string_view json, int exit_status);

}  // namespace millrace::internal
