// SPDX-License-Identifier: Apache-2.0
#include "client/process/run_pipeline.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/local_place.h"
#include "base/program.h"
#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "client/job/attempt.h"
#include "client/job/side_files.h"
#include "client/process/command_steps.h"
#include "client/process/describe.h"
#include "client/process/pipeline.h"
#include "client/process/run.h"
#include "client/process/task_loop.h"
#include "client/solo/local_input.h"
#include "client/solo/solo.h"

namespace millrace::internal {
namespace {

// SoloSteps runs the steps of a pipeline in this process, over files of this machine (client/solo/solo.h).
// Thread rule: the main thread.
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

Result<StepResult> SoloSteps::Run(const Step& step) {
  const JobBinding& job = jobs_.at(step.job);
  solo::SoloRun run = run_;
  run.output = step.output;
  run.inputs = step.inputs;
  run.reduces = step.options.reduces.value_or(step.reduces ? 1 : 0);
  for (const auto& [name, value] : step.options.parameters) run.parameters.push_back(name + "=" + value);
  const std::string::size_type slash = step.output.rfind('/');
  if (slash != std::string::npos && slash > 0) MILLRACE_TRY(MakeDirectories(step.output.substr(0, slash)));
  StepResult result;
  result.output = step.output;
  const std::string name = name_ + "/" + step.name;
  MILLRACE_ASSIGN(result.counters, solo::RunSolo(job, name, run));
  std::printf("%s succeeded\n", name.c_str());
  return result;
}

Result<std::string> SoloSteps::Read(const std::string& path) { return SideFiles(input_, {}).Read(path); }
Status SoloSteps::MakeDirectory(const std::string& path) { return MakeDirectories(path); }
Status SoloSteps::Move(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return FromErrno(errno, "rename " + Quote(from) + " to " + Quote(to));
  return Status::Ok();
}
Status SoloSteps::Remove(const std::string& path) { return RemoveTree(path); }

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kInterrupted = 130;
constexpr std::string_view kScheduler = "scheduler.";

// Returns a hidden directory beside the output, so that it is on the same disk or in the same file system.
std::string TemporaryBeside(std::string output) {
  constexpr std::size_t kMostOfName = 200;  // names have 255 bytes at most
  output = WithoutSlashes(std::move(output));
  const std::size_t name = output.rfind('/') + 1;
  Random random(SeedFromSystem());
  char token[9];
  std::snprintf(token, sizeof token, "%08llx", static_cast<unsigned long long>(random.Next() >> 32));
  return output.substr(0, name) + "_" + output.substr(name, kMostOfName) + ".steps-" + token;
}

std::string FromEnvironment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

int Fail(const std::string& name, const Status& failure, int status) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), failure.message().c_str());
  return failure.code() == StatusCode::kCancelled ? kInterrupted : status;
}

JobBinding OfPipeline(JobBinding job, std::size_t jobs) {
  job.declare = [own = std::move(job.declare), jobs](JobOptions& options) {
    options.Integer(kPipelineJob, 0, 0, static_cast<std::int64_t>(jobs) - 1, "which job of the pipeline this is");
    own(options);
  };
  return job;
}

// Describes the pipeline: as a job that reads any input, since its steps say what they read.
int Describe(const PipelineBinding& binding, int argc, char** argv) {
  JobBinding shape;
  shape.declare = binding.declare;
  shape.not_in_lines = "it is a pipeline of several jobs";
  shape.pipeline = true;
  return Answer(argv[0], DescribeJob(shape, BaseName(argv[0]), {argv + 2, argv + argc}), kWrongUsage);
}

int DriveOnCluster(const PipelineBinding& binding, int argc, char** argv) {
  JobOptions options;
  binding.declare(options);
  Result<PipelineRun> run = ParsePipelineRun({argv + 2, argv + argc}, &options);
  if (!run.ok()) return Fail(BaseName(argv[0]), run.status(), kWrongUsage);
  dfs::ClientOptions client;
  client.master = FromEnvironment("MILLRACE_MASTER", "");
  client.cluster = FromEnvironment("MILLRACE_CLUSTER", "");
  const Result<Micros> wait = ParseDuration(FromEnvironment("MILLRACE_WAIT", "0s"));
  if (!wait.ok()) return Fail(run->name, wait.status(), kWrongUsage);
  client.patience = *wait;
  Result<std::shared_ptr<tls::Credentials>> credentials = tls::CredentialsOfUser();
  if (!credentials.ok()) return Fail(run->name, credentials.status(), kWrongUsage);
  client.credentials = std::move(*credentials);
  const StorageAccess access = RealStorage();
  Storage storage(access, std::move(client));
  CommandSteps steps({run->millrace, OwnPath(argv[0]), run->name, run->of_steps, !run->json}, storage);
  const Status driven = DriveSteps(binding, run->facts, options, steps, run->shown.empty());
  const std::string& shown = run->shown.empty() ? run->facts.output : run->shown;
  if (run->json) {
    nlohmann::ordered_json report{{"pipeline", run->name},
                                  {"state", driven.ok() ? "succeeded" : "failed"},
                                  {"reason", driven.message()},
                                  {"output", shown},
                                  {"jobs", steps.jobs()}};
    std::printf("%s\n", report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
  if (!driven.ok()) return Fail(run->name, driven, kFailed);
  if (!run->json)
    std::printf("%s succeeded: %zu jobs; output in %s\n", run->name.c_str(), steps.jobs().size(), shown.c_str());
  return 0;
}

int DriveSolo(const PipelineBinding& binding, int argc, char** argv) {
  const std::string name = BaseName(argv[0]);
  Result<solo::SoloRun> run = solo::ParseSoloRun({argv + 2, argv + argc});
  if (!run.ok()) return Fail(name, run.status(), kWrongUsage);
  JobOptions options;
  binding.declare(options);
  std::vector<std::string> of_steps;
  Status set;
  for (const std::string& parameter : run->parameters) {
    if (set.ok()) set = options.SetPair(parameter);
    if (options.of_engine(parameter.substr(0, parameter.find('=')))) of_steps.push_back(parameter);
  }
  if (set.ok()) set = options.Validate();
  if (!set.ok()) return Fail(name, set, kWrongUsage);
  run->output = WithoutSlashes(run->output);
  if (const Status place = CheckNewDirectory(run->output); !place.ok())
    return Fail(name, Status(place.code(), "the output " + place.message()), kFailed);
  run->parameters = std::move(of_steps);
  PipelineBase::Facts facts{run->inputs, run->output, run->reduces, TemporaryBeside(run->output)};
  SoloSteps steps(binding.jobs, name, std::move(*run));
  const Status driven = DriveSteps(binding, std::move(facts), options, steps, true);
  return driven.ok() ? 0 : Fail(name, driven, kFailed);
}

}  // namespace

Result<PipelineRun> ParsePipelineRun(const std::vector<std::string>& words, JobOptions* options) {
  constexpr std::size_t kFixed = 6;
  if (words.size() < kFixed)
    return Invalid("give MILLRACE NAME OUTPUT REDUCES text|json SHOWN [NAME=VALUE...] -- [INPUT...]");
  PipelineRun run;
  run.millrace = words[0];
  run.name = words[1];
  run.facts.output = words[2];
  int reduces = 0;
  const auto [end, error] = std::from_chars(words[3].data(), words[3].data() + words[3].size(), reduces);
  if (error != std::errc() || end != words[3].data() + words[3].size() || reduces < -1)
    return Invalid("the number of reduces " + Quote(words[3]) + " is not -1 or more");
  if (reduces >= 0) run.facts.reduces = static_cast<std::uint32_t>(reduces);
  run.json = words[4] == "json";
  run.shown = words[5];
  std::size_t i = kFixed;
  for (; i < words.size() && words[i] != "--"; ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const bool of_scheduler = name.starts_with(kScheduler);
    if (!of_scheduler) MILLRACE_TRY(options->SetPair(words[i]));
    if (of_scheduler || options->of_engine(name)) run.of_steps.push_back(words[i]);
  }
  if (i == words.size()) return Invalid("there is no -- before the input");
  run.facts.inputs.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
  run.facts.temporary = TemporaryBeside(run.facts.output);
  MILLRACE_TRY(options->Validate());
  return run;
}

Status DriveSteps(const PipelineBinding& binding, PipelineBase::Facts facts, const JobOptions& options,
                  StepRunner& runner, bool stays) {
  const std::string temporary = facts.temporary;
  const Status driven = [&] {
    try {
      return binding.drive(std::move(facts), options, runner);
    } catch (const std::exception& e) {
      return Invalid(std::string("the pipeline threw an exception: ") + e.what());
    } catch (...) {
      return Invalid("the pipeline threw something that is not a std::exception");
    }
  }();
  if (driven.ok()) return runner.Remove(temporary);
  if (!stays) return driven;
  return Status(driven.code(), driven.message() + "; the output of its steps is in " + temporary);
}

namespace {

int DoAsAsked(PipelineBinding& binding, int argc, char** argv) {
  for (JobBinding& job : binding.jobs) job = OfPipeline(std::move(job), binding.jobs.size());
  if (const std::optional<int> status = RunOneOf(binding.jobs, argc, argv)) return *status;
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--millrace-describe") return Describe(binding, argc, argv);
  if (mode == "--millrace-pipeline") return DriveOnCluster(binding, argc, argv);
  if (mode == "--millrace-solo") return DriveSolo(binding, argc, argv);
  return BecomeClient(argc, argv);
}

}  // namespace

int RunPipelineProgram(PipelineBinding binding, int argc, char** argv) {
  return RunProgram(BaseName(argv[0]), [&] { return DoAsAsked(binding, argc, argv); });
}

}  // namespace millrace::internal
