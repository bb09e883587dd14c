// SoloSteps runs the steps of a pipeline in this process, over files of this machine (client/solo/solo.h).
// Thread rule: the main thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "client/job/attempt.h"
#include "client/pipeline/pipeline.h"
#include "client/solo/local_input.h"
#include "client/solo/solo.h"

namespace millrace::internal {

class SoloSteps final : public StepRunner {
 public:
  // Every step takes the parameters and the files of `run`. Requires: `jobs` outlives this.
  SoloSteps(const std::vector<JobBinding>& jobs, std::string name, solo::SoloRun run)
      : jobs_(jobs), name_(std::move(name)), run_(std::move(run)), input_(run_.files) {}

  Result<StepResult> Run(const Step& step) override;
  [[nodiscard]] Result<std::string> Read(const std::string& path) override;
  Status MakeDirectory(const std::string& path) override;
  Status Move(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;

 private:
  const std::vector<JobBinding>& jobs_;
  const std::string name_;
  const solo::SoloRun run_;
  solo::LocalInput input_;
};

}  // namespace millrace::internal
