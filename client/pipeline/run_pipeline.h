// What the main function of a pipeline's executable does. It is an executable of each of its jobs
// (client/process/run.h) as well, which the parameter pipeline.job=N tells apart.
//   PIPELINE --millrace-describe [--] [NAME=VALUE...]
//       describes the pipeline, as a job with "pipeline":true
//   PIPELINE --millrace-pipeline MILLRACE NAME OUTPUT REDUCES text|json SHOWN [NAME=VALUE...] -- [INPUT...]
//       drives it on the cluster of the environment (MILLRACE_MASTER, MILLRACE_CLUSTER, MILLRACE_WAIT). MILLRACE is the
//       program that runs its steps, REDUCES is -1 if there is no number for all, SHOWN is what is called the output in
//       what is printed (empty: OUTPUT). Parameters of the engine and of schedulers go to each step.
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
#include "client/pipeline/pipeline.h"

namespace millrace::internal {

struct PipelineBinding {
  std::vector<JobBinding> jobs;
  std::function<void(JobOptions&)> declare;  // the pipeline's own options
  std::function<Status(PipelineBase::Facts, const JobOptions&, StepRunner&)> drive;
};

[[nodiscard]] int RunPipelineProgram(PipelineBinding binding, int argc, char** argv);

// What --millrace-pipeline is followed by.
struct PipelineRun {
  std::string millrace, name, shown;
  PipelineBase::Facts facts;
  bool json = false;
  std::vector<std::string> of_steps;  // NAME=VALUE that each step is given
};
// Reads the words, of which those that `options` knows as the pipeline's own are set in it. kInvalid says what is wrong
// with them.
[[nodiscard]] Result<PipelineRun> ParsePipelineRun(const std::vector<std::string>& words, JobOptions* options);

// Drives the steps and removes what is temporary if all went well; else the message says where it is kept, if `stays`:
// the cluster of a local run goes with its command. Exceptions of Drive end here.
[[nodiscard]] Status DriveSteps(const PipelineBinding& binding, PipelineBase::Facts facts, const JobOptions& options,
                                StepRunner& runner, bool stays);

}  // namespace millrace::internal
