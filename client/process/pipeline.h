// SPDX-License-Identifier: Apache-2.0
// A Pipeline is a number of jobs that one program submits one after the other. The inputs and parameters of a job may
// depend on the counters and the output of the job before. The author writes the jobs and the function that drives
// them:
//
//   struct Frequent {
//     using Pipeline = millrace::Pipeline<Count, Rank>;           // its jobs
//     static void Options(millrace::JobOptions& options) { ... }   // its own options for -D; may be left out
//     static millrace::Status Drive(Pipeline& pipeline) {
//       MILLRACE_ASSIGN(const auto counted,
//                       pipeline.Run<Count>("count", pipeline.inputs(), pipeline.Temporary("counts")));
//       const std::string words = std::to_string(counted.counter("count", "words"));
//       return pipeline.Run<Rank>("rank", {counted.output}, pipeline.output(), {.parameters = {{"rank.of", words}}})
//           .status();
//     }
//   };
//   int main(int argc, char** argv) { return millrace::RunPipeline<Frequent>(argc, argv); }
//
// `millrace run FREQUENT INPUT... -o OUTPUT` runs a pipeline as it runs a job, and so does `millrace local run`. Each
// step is a job of its own, PIPELINE/STEP, with its own Prepare and options. Options of the engine (-D task.memory=...)
// and of schedulers (--pool) that are given to the pipeline go to each step.
//
// Directories from Temporary are removed when the pipeline has succeeded, and kept for inspection when it has not. A
// step that fails ends the pipeline with the step's message, if Drive returns its status, as MILLRACE_ASSIGN does.
// Ctrl-C kills the step.
// Thread rule: the main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/job/counters.h"
#include "client/job/job_options.h"

namespace millrace {

// The options of a step.
struct StepOptions {
  std::optional<std::uint32_t> reduces = {};  // none: --reducers of the pipeline if given, else as for any job
  std::vector<std::pair<std::string, std::string>> parameters = {};  // what -D sets
};

// A step that has succeeded.
struct StepResult {
  std::string output;
  std::uint32_t job = 0;  // its number in the cluster; 0 if there is none
  std::vector<CounterValue> counters;

  // Returns a counter's sum over the step's tasks; 0 if there is none of that name.
  [[nodiscard]] std::int64_t counter(std::string_view group, std::string_view name) const;
};

namespace internal {

struct Step {
  std::string name;
  std::size_t job = 0;  // its number in the pipeline
  bool reduces = true;  // the job has reduces unless their number is set to 0
  std::vector<std::string> inputs;
  std::string output;
  StepOptions options;
};

// Runs steps, and accesses the files where they run. Tests have their own StepRunner.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  virtual Result<StepResult> Run(const Step& step) = 0;
  [[nodiscard]] virtual Result<std::string> Read(const std::string& path) = 0;
  virtual Status MakeDirectory(const std::string& path) = 0;
  virtual Status Move(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;  // with all below it; OK also if it does not exist
};

}  // namespace internal

class PipelineBase {
 public:
  struct Facts {
    std::vector<std::string> inputs;
    std::string output;
    std::optional<std::uint32_t> reduces;
    std::string temporary;  // a directory of the pipeline's own, which need not exist
  };
  // Requires: `options` and `runner` outlive this.
  PipelineBase(Facts facts, const JobOptions& options, internal::StepRunner& runner)
      : facts_(std::move(facts)), options_(options), runner_(runner) {}

  // The pipeline's own options, as -D sets them.
  [[nodiscard]] const JobOptions& options() const { return options_; }
  // The inputs that the pipeline was given.
  [[nodiscard]] const std::vector<std::string>& inputs() const { return facts_.inputs; }
  // The directory that the pipeline was given for its output. One step writes this directory, or several steps write
  // directories in it (output() + "/a").
  [[nodiscard]] const std::string& output() const { return facts_.output; }
  [[nodiscard]] std::optional<std::uint32_t> reduces() const { return facts_.reduces; }
  // Returns the path of a directory for the output of a step that another one reads.
  [[nodiscard]] std::string Temporary(std::string_view name) const {
    return facts_.temporary + "/" + std::string(name);
  }
  // Returns the bytes of a file, or of all files of a directory, one after the other, as TaskContext::ReadFile does.
  [[nodiscard]] Result<std::string> ReadFile(const std::string& path) { return runner_.Read(path); }
  // Moves the output of a step from `directory` to `output`, which is output() or below it, so that the step's output
  // is no longer temporary. This is for a step that proves to be the last one only by its counters.
  Status Keep(const std::string& directory, const std::string& output);

 protected:
  Result<StepResult> Run(internal::Step step);

 private:
  // Returns the path as the input of a step. The pipeline's own directories are not patterns, whatever characters their
  // names have.
  [[nodiscard]] std::string AsInput(const std::string& path) const;
  Status MakeOutputFor(const std::string& path);

  const Facts facts_;
  const JobOptions& options_;
  internal::StepRunner& runner_;
  bool output_made_ = false;
};

// The argument of Drive. Jobs are structs as in job.h.
template <class... Jobs>
class Pipeline final : public PipelineBase {
 public:
  using PipelineBase::PipelineBase;

  // Runs job J over the inputs and waits for its end. `name` consists of letters, digits, '.', '_' and '-'. Returns
  // kInvalid, with the step's message, if the step fails, and kCancelled if it is interrupted.
  template <class J>
  Result<StepResult> Run(std::string name, std::vector<std::string> inputs, std::string output,
                         StepOptions options = {}) {
    constexpr bool kIsOne = (std::is_same_v<J, Jobs> || ...);
    static_assert(kIsOne, "Run<J>: J is not among the jobs of the pipeline, millrace::Pipeline<...>");
    constexpr bool kReduces = requires { typename J::Key; };
    return PipelineBase::Run(
        {std::move(name), Index<J>(), kReduces, std::move(inputs), std::move(output), std::move(options)});
  }

 private:
  template <class J>
  static constexpr std::size_t Index() {
    constexpr bool kSame[] = {std::is_same_v<J, Jobs>..., true};
    std::size_t i = 0;
    while (!kSame[i]) ++i;
    return i;
  }
};

}  // namespace millrace
