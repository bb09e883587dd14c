// SPDX-License-Identifier: Apache-2.0
// The main function of a pipeline's executable. The executable also serves as that of each of its jobs
// (client/process/run.h); the parameter pipeline.job=N selects the job.
//   PIPELINE --millrace-describe [--] [NAME=VALUE...]
//       describes the pipeline, as a job with "pipeline":true
//   PIPELINE --millrace-pipeline MILLRACE NAME OUTPUT REDUCES text|json SHOWN [NAME=VALUE...] -- [INPUT...]
//       drives it on the cluster of the environment (MILLRACE_MASTER, MILLRACE_CLUSTER, MILLRACE_WAIT). MILLRACE is the
//       program that runs its steps, REDUCES is -1 if there is no number for all steps, SHOWN is the name of the output
//       in messages (empty: OUTPUT). Parameters of the engine and of schedulers go to each step.
//   PIPELINE --millrace-solo OUTPUT REDUCES [NAME=VALUE...] [--file=LOCAL=PATH...] -- [INPUT...]
//       drives it in this process, over local files
//   PIPELINE ARGUMENTS...
//       becomes `millrace run PIPELINE ARGUMENTS...`
// Thread rule: the main thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/job/attempt.h"
#include "client/job/job_options.h"
#include "client/process/pipeline.h"

namespace millrace::internal {

struct PipelineBinding {
  std::vector<JobBinding> jobs;
  std::function<void(JobOptions&)> declare;  // the pipeline's own options
  std::function<Status(PipelineBase::Facts, const JobOptions&, StepRunner&)> drive;
};

[[nodiscard]] int RunPipelineProgram(PipelineBinding binding, int argc, char** argv);

// The words after --millrace-pipeline.
struct PipelineRun {
  std::string millrace, name, shown;
  PipelineBase::Facts facts;
  bool json = false;
  std::vector<std::string> of_steps;  // NAME=VALUE for each step
};
// Reads the words. Parameters that `options` knows as the pipeline's own are set in `options`. Returns kInvalid, with
// the reason, if the words are wrong.
[[nodiscard]] Result<PipelineRun> ParsePipelineRun(const std::vector<std::string>& words, JobOptions* options);

// Drives the steps, and removes the temporary directory if Drive succeeds. If Drive fails, the message names the
// directory, provided that `stays` is set; without `stays` the directory goes with the cluster of a local run. Returns
// an exception of Drive as kInvalid.
[[nodiscard]] Status DriveSteps(const PipelineBinding& binding, PipelineBase::Facts facts, const JobOptions& options,
                                StepRunner& runner, bool stays);

}  // namespace millrace::internal
