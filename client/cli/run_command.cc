// SPDX-License-Identifier: Apache-2.0
#include "client/cli/run_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "base/console/arguments.h"
#include "base/local_place.h"
#include "base/options.h"
#include "base/random.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/commands.h"
#include "client/cli/find.h"
#include "client/cli/job_help.h"
#include "client/cli/wait_job.h"
#include "client/job/engine_options.h"
#include "client/job_client/executable_store.h"
#include "client/job_client/first_look.h"
#include "client/job_client/job_client.h"
#include "dfs/wire/path.h"
#include "dfs/wire/pattern.h"

namespace millrace::cli {
namespace {

constexpr std::int64_t kMostReducers = 1000;
constexpr Micros kDay = 24 * 3600 * kSecond;

// Options of the engine that have a flag, which prevails over -D.
struct EngineFlag {
  const char *flag, *option;  // option: "job.max_failed_maps="
  std::int64_t most;
  const char* one_line;
};
constexpr EngineFlag kEngineFlags[] = {
    {"--max-failed-maps", "job.max_failed_maps=", 100,
     "percent of the maps that may be left out, once their attempts have failed (default 0)"},
    {"--skip-bad-records", "job.skip_bad_records=", kMostSkippedRecords,
     "records of each map that may be left out, once two attempts have failed at each (default 0)"},
};

std::string NewToken() {
  Random random(SeedFromSystem());
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string token;
  for (int i = 0; i < 32; ++i) token += kHex[random.Below(kHex.size())];
  return token;
}

// Names the inputs and the output as the master takes them, from the root.
Status CompletePaths(const RunOptions& options, JobRequest* request) {
  for (const std::string& input : options.inputs) {
    MILLRACE_ASSIGN(std::string path, dfs::CompletePath(input));
    request->inputs.push_back(std::move(path));
  }
  MILLRACE_ASSIGN(request->output, dfs::CompletePath(options.output));
  return Status::Ok();
}

// Copies those options of the engine that the master needs into the request. The job has checked their values.
Status ApplyEngineOptions(const Parameters& parameters, JobRequest* request) {
  OptionSet set;
  EngineOptions engine;
  DeclareEngineOptions(&set, &engine);
  for (const auto& [name, value] : parameters) {
    if (const Status taken = set.Set(name, value); !taken.ok() && taken.code() != StatusCode::kNotFound) return taken;
  }
  MILLRACE_TRY(CheckEngineOptions(engine));
  static_cast<JobTerms&>(*request) = engine;
  request->no_speculation = !engine.speculation;
  request->pack = engine.pack;
  return Status::Ok();
}

// Takes -D scheduler.NAME=VALUE for --NAME VALUE. If both are given, the flag prevails.
Status TakeSchedulerParameters(Parameters* parameters, RunOptions* options) {
  constexpr std::string_view kPrefix = "scheduler.";
  const RunOptions given = *options;
  std::vector<std::string> names;
  for (const SchedulingOption& option : SchedulingOptionsOf(options)) names.push_back("scheduler." + option.name);
  for (const auto& [name, value] : *parameters) {
    if (!name.starts_with(kPrefix)) continue;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      const auto nearest = Nearest(name, names);
      return Invalid("-D " + Quote(name) + ": no such option; " +
                     (nearest ? "did you mean " + *nearest + "?" : "`millrace run --help` lists them"));
    }
    *SchedulingOptionsOf(options)[static_cast<std::size_t>(found - names.begin())].field = value;
  }
  std::erase_if(*parameters, [&](const auto& pair) { return pair.first.starts_with(kPrefix); });
  RunOptions first = given;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& flag = *SchedulingOptionsOf(&first)[i].field;
    if (!flag.empty()) *SchedulingOptionsOf(options)[i].field = flag;
  }
  return Status::Ok();
}

// Returns a time of at least a millisecond and at most `most`, or 0 if no text is given.
Result<Micros> ParseTimeOption(const char* option, const std::string& text, Micros most) {
  if (text.empty()) return Micros{0};
  const Result<Micros> given = ParseDuration(text);
  if (!given.ok()) return given.status().Within(option);
  const Micros time = *given;
  if (time < kMillisecond) return Invalid(std::string(option) + " " + Quote(text) + " is too short; the least is 1 ms");
  if (time > most) return Invalid(std::string(option) + " " + Quote(text) + " is more than " + FormatDuration(most));
  return time;
}

// Reads waits such as "5s" or "0s,10s,1m".
Result<std::vector<Micros>> ParseWaits(std::string_view text) {
  std::vector<Micros> waits;
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    MILLRACE_ASSIGN(const Micros wait, ParseDuration(text.substr(0, comma)));
    if (waits.size() == 3 || wait > kDay)
      return Invalid("--locality-wait takes one to three times of at most a day: for rack, datacenter and any node");
    waits.push_back(wait);
    if (more) text.remove_prefix(comma + 1);
  }
  return waits;
}

// Reads "3", or "3,job4".
Status ApplyAfter(const RunOptions& options, JobRequest* request) {
  request->even_if_failed = options.even_if_failed;
  request->held = options.hold;
  for (const std::string& words : options.after) {
    std::string_view rest = words;
    for (bool more = true; more;) {
      const std::size_t comma = rest.find(',');
      more = comma != std::string_view::npos;
      const Result<JobId> job = job::ParseJobArgument(std::string(rest.substr(0, comma)));
      if (!job.ok()) return job.status().Within("--after");
      request->after.push_back(*job);
      if (more) rest.remove_prefix(comma + 1);
    }
  }
  if (options.even_if_failed && request->after.empty())
    return Invalid("--even-if-failed says how the jobs of --after may end; give --after JOB, too");
  if (request->after.size() > kMostAfter)
    return Invalid("--after names " + std::to_string(request->after.size()) + " jobs; at most " +
                   std::to_string(kMostAfter) +
                   "; let another job, such as sleep, run after some of them, and this one after that job");
  return Status::Ok();
}

Status ApplyScheduling(RunOptions options, JobRequest* request) {
  MILLRACE_TRY(TakeSchedulerParameters(&request->parameters, &options));
  request->pool = options.pool;
  request->owner = options.user;
  if (!options.priority.empty()) {
    MILLRACE_ASSIGN(request->priority, job::ParsePriority(options.priority));
  }
  MILLRACE_ASSIGN(request->deadline, ParseTimeOption("--deadline", options.deadline, 3650 * kDay));
  MILLRACE_ASSIGN(request->map_time, ParseTimeOption("--map-time", options.map_time, kDay));
  MILLRACE_ASSIGN(request->reduce_time, ParseTimeOption("--reduce-time", options.reduce_time, kDay));
  MILLRACE_ASSIGN(request->locality_waits, ParseWaits(options.locality_wait));
  return Status::Ok();
}

Status CheckInputs(const RunOptions& options, const job::JobDescription& job) {
  if (job.pipeline) return Status::Ok();  // its steps say what they read
  const bool reads = job.split_by != SplitBy::kNumbers;
  if (reads && options.inputs.empty()) return Invalid("the job reads input, but none is given; give INPUT...");
  if (!job.mappers.empty() && options.inputs.size() != job.mappers.size()) {
    return Invalid("the job has " + std::to_string(job.mappers.size()) + " mappers, one for each INPUT, and " +
                   std::to_string(options.inputs.size()) +
                   " INPUTs are given; give as many, in the order of the mappers");
  }
  if (reads || options.inputs.empty()) return Status::Ok();
  return Invalid("the job makes its own data; leave out the input " + Quote(options.inputs[0]));
}

// Copies what the master needs of the description into the request.
void ApplyDescription(const job::JobDescription& job, JobRequest* request) {
  request->split_by = job.split_by;
  request->record_bytes = job.record_bytes;
  request->decompresses = job.decompresses;
  request->maps = job.maps;
  request->records = job.records;
  request->cuts.assign(job.mappers.begin(), job.mappers.end());
}

// The master checks all this when the job is submitted. Checking it here first may save the upload of the executable.
Status CheckPaths(dfs::DfsClient& files, const JobRequest& request) {
  for (const std::string& input : request.inputs) {
    if (dfs::HasPattern(input) || !request.after.empty()) continue;
    MILLRACE_TRY(files.Stat(input).status());
  }
  const Result<dfs::FileStatus> output = files.Stat(request.output);
  if (output.ok())
    return Exists("the output " + Quote(request.output) + " exists already; remove it or choose another");
  if (output.status().code() != StatusCode::kNotFound) return output.status();
  // Directories above it are made; a file among them is in the way.
  for (std::string above = request.output; above != "/";) {
    above = dfs::ParentPath(above);
    const Result<dfs::FileStatus> found = files.Stat(above);
    if (found.ok() && !found->directory)
      return Invalid("the output " + Quote(request.output) + " cannot be made: " + Quote(above) +
                     " is a file; choose another");
    if (found.ok() || found.status().code() != StatusCode::kNotFound) break;
  }
  return Status::Ok();
}

// Runs the job's own Prepare. What it sets comes after what the user has set.
Status PrepareJob(const job::LookedAt& where, Prepared* prepared) {
  if (!prepared->description.prepares) return Status::Ok();
  JobRequest* const request = &prepared->request;
  job::CaptureLimits limits;
  MILLRACE_ASSIGN(const Micros wait, ParseDuration(where.wait));
  limits.timeout = wait + 60 * kSecond;
  MILLRACE_ASSIGN(Parameters more, job::PrepareJob(prepared->executable, where, request->reduces, request->parameters,
                                                   request->inputs, limits));
  request->parameters.insert(request->parameters.end(), more.begin(), more.end());
  return Status::Ok();
}

// Becomes the pipeline's program, which drives its steps (client/process/run_pipeline.h). What a job would be refused
// for at once is checked here, before the first step runs. Returns only if that fails, with the exit status.
int BecomePipeline(const Invocation& invocation, const Prepared& prepared, const RunOptions& options) {
  const std::string what = "run " + options.job;
  if (!options.after.empty() || options.hold)
    return invocation.Fail(what,
                           Invalid("--after and --hold: a pipeline is driven from here, step by step; `millrace job "
                                   "wait` before it does what --after does"),
                           kWrongUsage);
  if (options.detach)
    return invocation.Fail(what, Invalid("--detach: a pipeline is driven from here; leave it out"), kWrongUsage);
  std::string cluster;
  {
    const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
    if (!files.ok()) return invocation.Fail("run", files.status(), kUnreachable);
    if (const Status paths = CheckPaths(**files, prepared.request); !paths.ok()) return invocation.Fail(what, paths);
    cluster = (*files)->Cluster();
  }
  const JobRequest& request = prepared.request;
  Words words{prepared.executable,
              "--millrace-pipeline",
              invocation.self,
              request.name,
              request.output,
              std::to_string(options.reducers),
              options.json ? "json" : "text",
              options.shown_output};
  for (const auto& [name, value] : request.parameters) words.push_back(name + "=" + value);
  RunOptions scheduling = options;
  Parameters given;
  for (const std::string& parameter : options.parameters) given.push_back(job::ParseParameter(parameter).value());
  if (const Status taken = TakeSchedulerParameters(&given, &scheduling); !taken.ok())
    return invocation.Fail(what, taken, kWrongUsage);
  for (const SchedulingOption& option : SchedulingOptionsOf(&scheduling)) {
    if (!option.field->empty()) words.push_back("scheduler." + option.name + "=" + *option.field);
  }
  words.emplace_back("--");
  words.insert(words.end(), request.inputs.begin(), request.inputs.end());
  ::setenv("MILLRACE_MASTER", invocation.master.c_str(), 1);
  ::setenv("MILLRACE_CLUSTER", cluster.c_str(), 1);
  ::setenv("MILLRACE_WAIT", invocation.wait.c_str(), 1);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return invocation.Fail(what, FromErrno(errno, "start " + Quote(words[0])));
}

}  // namespace

std::optional<int> ParseRunOptions(const Invocation& invocation, const Words& args, const std::string& verb,
                                   RunOptions* options) {
  console::Arguments arguments(verb, "JOB [INPUT...] -o OUTPUT",
                               "Runs a job: a bundled example by name, or the path of an executable.");
  if (verb == "run") {
    arguments.Example("wordcount /in/*.txt -o /words");
    arguments.Example("grep /in -o /found -D grep.pattern=ERROR --detach");
  }
  arguments.Text("-o,--output", &options->output,
                 verb == "local run"
                     ? "local directory for the output; must not exist"
                     : "directory for the output in the file system; must not exist; the first slash may be left out");
  arguments.Integer("-r,--reducers", &options->reducers, 0, kMostReducers,
                    "reduce tasks; 0: the maps write the output (default 1, or 0 for a job without reduces)");
  arguments.List("-D", &options->parameters, "an option of the job, NAME=VALUE; may be repeated");
  for (const SchedulingOption& option : SchedulingOptionsOf(options)) {
    CLI::Option* const declared = arguments.options().add_option(option.flag, *option.field, option.one_line);
    // The only job of a cluster shares it with nobody, so that the help of `local run` does not list these options.
    if (verb == "local run" && option.among_jobs) declared->group("");
  }
  std::array<std::int64_t, std::size(kEngineFlags)> given;
  given.fill(-1);
  for (std::size_t i = 0; i < given.size(); ++i)
    arguments.Integer(kEngineFlags[i].flag, &given[i], 0, kEngineFlags[i].most, kEngineFlags[i].one_line);
  arguments.Text("--name", &options->name, "the job's name in listings (default: its program's name)");
  CLI::Option* const detach =
      arguments.options().add_flag("--detach", options->detach, "print the job's number and do not wait for it");
  if (verb == "local run") detach->group("");  // it is refused with a reason
  if (verb == "run") {
    arguments.Example("grep /words -o /found -D grep.pattern=ERROR --after 12");
    arguments.List("--after", &options->after,
                   "start when these jobs, at most " + std::to_string(kMostAfter) +
                       ", have succeeded: JOB[,JOB...]; the input is looked at then");
    arguments.Flag("--even-if-failed", &options->even_if_failed,
                   "with --after: start when these jobs have ended in any way");
    arguments.Flag("--hold", &options->hold, "start only once `millrace job release` says so");
  }
  arguments.Flag("--json", &options->json, "print the job's final state, or with --list the jobs, as JSON");
  bool list = false;
  if (verb == "run") arguments.Flag("--list", &list, "list the bundled jobs and their options, and do nothing else");
  if (verb == "local run") {
    arguments.Offline();  // it needs none that is there
    arguments.List(
        "--file", &options->files,
        "LOCAL=PATH, a local file or directory that the job reads at PATH besides its input; may be repeated");
    arguments.Flag("--in-process", &options->in_process,
                   "run the whole job in one process and without a cluster, for debuggers and profilers");
  }
  // In no group, so that the help does not list it: `local run` gives it.
  arguments.options().add_option("--shown-output", options->shown_output)->group("");
  arguments.options().add_flag("--step", options->step)->group("");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, console::kAnyNumber)) {
    const std::optional<std::string> job = JobToExplain(args, invocation.directory());
    return *status == kDone && job ? ExplainJob(invocation, *job) : *status;
  }
  if (list) return ListBundledJobs(invocation, options->json);
  if (arguments.operands().empty()) {
    const std::string listed = verb == "run" ? "; `millrace run --list` lists the bundled ones" : "";
    return invocation.Fail(
        verb, Invalid("no job is given" + listed + "; usage: millrace " + verb + " [OPTIONS] JOB [INPUT...] -o OUTPUT"),
        kWrongUsage);
  }
  if (options->output.empty())
    return invocation.Fail(verb, Invalid("the output is missing; give -o OUTPUT"), kWrongUsage);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] >= 0) options->parameters.push_back(std::string(kEngineFlags[i].option) + std::to_string(given[i]));
  }
  options->job = arguments.operands()[0];
  options->inputs.assign(arguments.operands().begin() + 1, arguments.operands().end());
  return std::nullopt;
}

std::vector<SchedulingOption> SchedulingOptionsOf(RunOptions* options) {
  return {
      {"--pool", "pool", &options->pool,
       "the job's pool or queue, for schedulers that have them (default: one for each user)", true},
      {"--user", "user", &options->user, "the job's owner (default: you)", true},
      {"--priority", "priority", &options->priority, "VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW (default NORMAL)", true},
      {"--deadline", "deadline", &options->deadline,
       "the time from now by which the job should end, such as 10m; for schedulers that know deadlines", true},
      {"--map-time", "map_time", &options->map_time,
       "how long a map takes, such as 30s; for schedulers that plan, in place of the times of earlier runs"},
      {"--reduce-time", "reduce_time", &options->reduce_time, "the same for a reduce"},
      {"--locality-wait", "locality_wait", &options->locality_wait,
       "with +delay: how long maps wait for a node near their data, such as 5s, or 5s,10s,20s before they take one in "
       "the same rack, in the same datacenter and anywhere"},
  };
}

Result<Prepared> PrepareRun(const Invocation& invocation, const RunOptions& options) {
  Prepared prepared;
  JobRequest& request = prepared.request;
  MILLRACE_TRY(CheckLength("the job's name (--name)", options.name, kLongestName));
  MILLRACE_TRY(CheckLength("the job's owner (--user)", options.user, kLongestName));
  MILLRACE_TRY(CheckLength("the job's pool (--pool)", options.pool, kLongestName));
  for (const std::string& parameter : options.parameters) {
    MILLRACE_ASSIGN(auto pair, job::ParseParameter(parameter));
    request.parameters.push_back(std::move(pair));
  }
  MILLRACE_TRY(ApplyScheduling(options, &request));
  MILLRACE_TRY(ApplyAfter(options, &request));
  Result<std::string> executable = FindJob(options.job, invocation.directory());
  // The words may have changed places: `run /in wordcount`.
  if (!executable.ok() && !options.inputs.empty() && FindJob(options.inputs[0], invocation.directory()).ok())
    return NotFound(executable.status().message() + "; did you mean run " + options.inputs[0] + " " + options.job +
                    "?");
  MILLRACE_ASSIGN(prepared.executable, std::move(executable));
  MILLRACE_ASSIGN(prepared.description, job::DescribeJob(prepared.executable, request.parameters, {}));
  const job::JobDescription& description = prepared.description;
  MILLRACE_TRY(CheckInputs(options, description));
  ApplyDescription(description, &request);
  MILLRACE_TRY(ApplyEngineOptions(request.parameters, &request));
  request.name = options.name.empty() ? description.name : options.name;
  if (request.owner.empty()) request.owner = invocation.user;
  if (!options.local) MILLRACE_TRY(CompletePaths(options, &request));
  if (description.map_only && options.reducers > 0) return Invalid("the job has no reduces; leave out --reducers");
  request.reduces = options.reducers >= 0 ? static_cast<std::uint32_t>(options.reducers) : description.map_only ? 0 : 1;
  request.token = NewToken();
  return prepared;
}

namespace {

// A job that looks at its input before it is submitted would not see what the others have yet to write.
Status CheckPreparesNothing(const Prepared& prepared) {
  if (!prepared.description.prepares) return Status::Ok();
  return Unsupported(
      "--after: this job looks at its input before it is submitted, and would not see what the other jobs have yet to "
      "write; submit it once they have ended: `millrace job wait` waits for them");
}

}  // namespace

Status CompleteRequest(const Invocation& invocation, dfs::DfsClient& files, Prepared* prepared) {
  JobRequest& request = prepared->request;
  MILLRACE_TRY(CheckPaths(files, request));
  std::vector<job::OpenedInput> opened;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const job::DescribedInput how = job::CutOf(prepared->description, i);
    const bool cut = how.split_by != SplitBy::kFile;  // where it is not compressed
    if (how.decompresses && (cut || how.text)) opened.push_back({request.inputs[i], how.text});
  }
  // The input of a job that runs after others may be theirs, and does not exist yet.
  if (request.after.empty()) {
    MILLRACE_ASSIGN(request.uncut, job::LookIntoInput(files, opened));
  } else {
    MILLRACE_TRY(CheckPreparesNothing(*prepared));
  }
  MILLRACE_TRY(PrepareJob({invocation.master, files.Cluster(), invocation.wait}, prepared));
  request.input_sample = job::SampleInput(files, request.inputs);
  if (!request.executable.path.empty()) return Status::Ok();
  MILLRACE_ASSIGN(request.executable, job::StoreExecutable(files, prepared->executable, request.token));
  return Status::Ok();
}

namespace {

// Adds what to do to the failure for an input that the cluster does not have, if this machine has a file of that name.
Status WithLocalHint(const Status& failure, const RunOptions& options) {
  const bool here = std::ranges::any_of(
      options.inputs, [](const std::string& input) { return LookAtLocal(input) != LocalKind::kNothing; });
  if (failure.code() != StatusCode::kNotFound || !here) return failure;
  return NotFound(failure.message() +
                  "; the inputs are paths of the cluster: `millrace fs put` stores a file of this machine there, and "
                  "`millrace local run` reads it where it is");
}

}  // namespace

int SubmitAndWait(const Invocation& invocation, Prepared prepared, const RunOptions& options) {
  SigintHold sigint;
  sigint.BeginThreads();
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect([&] { sigint.EndThreads(); });
  sigint.EndThreads();
  if (!files.ok()) return invocation.Fail("run", files.status(), kUnreachable);
  const Status complete = CompleteRequest(invocation, **files, &prepared);
  const Result<JobId> job = complete.ok() ? job::JobClient(**files).Submit(prepared.request) : Result<JobId>(complete);
  if (!job.ok()) return invocation.Fail("run " + options.job, WithLocalHint(job.status(), options));
  if (options.detach) {
    const std::string number = std::to_string(job->value);  // scripts read the last word of the line as a number
    console::Printer(invocation.console) << (options.json ? "{\"job\":" + number + "}\n"
                                                          : "submitted job " + number + "\n");
    return kDone;
  }
  sigint.Catch();  // before the line is printed, since from here on Ctrl-C means the job
  if (!invocation.console.err_is_terminal) console::SayLine(invocation.console, ToText(*job) + ": submitted");
  return WaitAndReport(invocation, **files, *job, sigint,
                       {.json = options.json,
                        .what = "run " + options.job,
                        .shown_output = options.shown_output,
                        .of_step = options.step});
}

int RunCommand(const Invocation& invocation, const Words& args) {
  RunOptions options;
  if (const std::optional<int> status = ParseRunOptions(invocation, args, "run", &options)) return *status;
  Result<Prepared> prepared = PrepareRun(invocation, options);
  if (!prepared.ok()) return invocation.Fail("run " + options.job, prepared.status(), kWrongUsage);
  if (prepared->description.pipeline) return BecomePipeline(invocation, *prepared, options);
  return SubmitAndWait(invocation, std::move(prepared).value(), options);
}

}  // namespace millrace::cli
