#include "client/cli/run_command.h"

#include <limits>

#include "base/options.h"
#include "base/random.h"
#include "base/text.h"
#include "client/api/engine_options.h"
#include "client/cli/find_job.h"
#include "client/cli/wait_job.h"
#include "client/job_client/job_client.h"
#include "dfs/tools/arguments.h"

namespace millrace::cli {
namespace {

constexpr std::int64_t kMostReducers = 1000;
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

std::string NewToken() {
  Random random(SeedFromSystem());
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string token;
  for (int i = 0; i < 32; ++i) token += kHex[random.Below(kHex.size())];
  return token;
}

std::string Absolute(const std::string& path) { return path.starts_with('/') ? path : "/" + path; }

// Options of the engine that the master wants to know travel in the request; the job has checked their values.
Status TakeEngineOptions(const job::Parameters& parameters, job::JobRequest* request) {
  OptionSet set;
  EngineOptions engine;
  DeclareEngineOptions(&set, &engine);
  for (const auto& [name, value] : parameters) {
    if (const Status taken = set.Set(name, value); !taken.ok() && taken.code() != StatusCode::kNotFound) return taken;
  }
  request->slow_start = engine.slow_start;
  request->max_attempts = static_cast<std::uint32_t>(engine.max_attempts);
  return Status::Ok();
}

bool IsGlob(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

// The master checks all this when the job is submitted; here it saves the upload of the executable.
Status CheckPaths(dfs::DfsClient& files, const job::JobRequest& request) {
  for (const std::string& input : request.inputs) {
    if (IsGlob(input)) continue;
    MILLRACE_TRY(files.Stat(input).status());
  }
  const Result<dfs::FileInfo> output = files.Stat(request.output);
  if (output.ok())
    return Exists("the output " + Quote(request.output) + " exists already; remove it or choose another");
  return output.status().code() == StatusCode::kNotFound ? Status::Ok() : output.status();
}

Result<std::uint32_t> Submit(dfs::DfsClient& files, Prepared* prepared) {
  job::JobRequest& request = prepared->request;
  MILLRACE_TRY(CheckPaths(files, request));
  MILLRACE_ASSIGN(request.executable, job::StoreExecutable(files, prepared->executable, request.token));
  return job::JobClient(files).Submit(request);
}

}  // namespace

std::optional<int> ParseRunOptions(const Invocation& invocation, const Words& args, const std::string& verb,
                                   RunOptions* options) {
  console::Arguments arguments(verb, "JOB INPUT... -o OUTPUT",
                               "Runs a job: a bundled example by name, or the path of an executable.");
  arguments.Text("-o,--output", &options->output, "directory for the output; must not exist");
  arguments.Integer("-r,--reducers", &options->reducers, 0, kMostReducers,
                    "reduce tasks; 0: the maps write the output (default 1)");
  arguments.List("-D", &options->parameters, "an option of the job, NAME=VALUE; may be repeated");
  arguments.Text("--pool", &options->pool, "pool, for schedulers that know pools");
  arguments.Text("--priority", &options->priority, "VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW");
  arguments.Text("--deadline", &options->deadline,
                 "time from now by which the job should end, as 10m; for schedulers that know deadlines");
  arguments.Text("--name", &options->name, "what listings call it (default: the name of the job)");
  arguments.Flag("--detach", &options->detach, "print the job's number and do not wait for it");
  arguments.Flag("--json", &options->json, "print the job's final state as JSON");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 2, kAll)) return status;
  if (options->output.empty())
    return invocation.Fail(verb, Invalid("the output is not named; give -o OUTPUT"), kWrongUsage);
  options->job = arguments.operands()[0];
  options->inputs.assign(arguments.operands().begin() + 1, arguments.operands().end());
  return std::nullopt;
}

Result<Prepared> PrepareRun(const Invocation& invocation, const RunOptions& options) {
  Prepared prepared;
  job::JobRequest& request = prepared.request;
  for (const std::string& parameter : options.parameters) {
    MILLRACE_ASSIGN(auto pair, job::ParseParameter(parameter));
    request.parameters.push_back(std::move(pair));
  }
  MILLRACE_ASSIGN(request.priority, job::ParsePriority(options.priority));
  if (!options.deadline.empty()) {
    MILLRACE_ASSIGN(request.deadline, ParseDuration(options.deadline));
    if (request.deadline < kMillisecond) return Invalid("--deadline " + Quote(options.deadline) + " is no time at all");
  }
  MILLRACE_ASSIGN(prepared.executable, FindJob(options.job, invocation.directory()));
  MILLRACE_ASSIGN(request.description, job::DescribeJob(prepared.executable, request.parameters, {}));
  MILLRACE_TRY(TakeEngineOptions(request.parameters, &request));
  request.name = options.name.empty() ? request.description.name : options.name;
  request.owner = invocation.user;
  for (const std::string& input : options.inputs) request.inputs.push_back(Absolute(input));
  request.output = Absolute(options.output);
  request.reduces = static_cast<std::uint32_t>(options.reducers);
  request.pool = options.pool;
  request.token = NewToken();
  return prepared;
}

int SubmitAndWait(const Invocation& invocation, Prepared prepared, const RunOptions& options) {
  SigintHold sigint;
  sigint.BeginThreads();
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  sigint.EndThreads();
  if (!files.ok()) return invocation.Fail("run", files.status(), kUnreachable);
  const Result<std::uint32_t> job = Submit(**files, &prepared);
  if (!job.ok()) return invocation.Fail("run " + options.job, job.status());
  if (options.detach) {
    console::Printer(invocation.console.out)
        << (options.json ? "{\"job\":" + std::to_string(*job) + "}\n" : "submitted job " + std::to_string(*job) + "\n");
    return kDone;
  }
  if (!invocation.console.err_is_terminal)
    console::SayLine(invocation.console, "job " + std::to_string(*job) + ": submitted");
  return WaitAndReport(invocation, **files, *job, sigint, options.json, "run " + options.job);
}

int RunCommand(const Invocation& invocation, const Words& args) {
  RunOptions options;
  if (const std::optional<int> status = ParseRunOptions(invocation, args, "run", &options)) return *status;
  Result<Prepared> prepared = PrepareRun(invocation, options);
  if (!prepared.ok()) return invocation.Fail("run " + options.job, prepared.status(), kWrongUsage);
  return SubmitAndWait(invocation, std::move(prepared).value(), options);
}

}  // namespace millrace::cli
