// SPDX-License-Identifier: Apache-2.0
#include "client/local/local_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "base/console/arguments.h"
#include "base/local_place.h"
#include "base/text.h"
#include "client/cli/run_command.h"
#include "client/cli/stream_command.h"
#include "client/local/foreground.h"
#include "client/local/local_inputs.h"
#include "dfs/tools/remote_path.h"
#include "dfs/wire/path.h"
#include "schedulers/policies/catalog.h"

namespace millrace::local {
namespace {

using cli::Invocation;
using cli::Words;
using console::kDone;
using console::kFailed;
using console::kWrongUsage;

constexpr int kNotStarted = 127;  // the exit status of shells and env(1)
constexpr const char* kOutput = "/output";

// Returns where the options end. Each of them takes a value, so they end at the first word that does not begin with
// "-", or at "--".
std::size_t EndOfOptions(const Words& args) {
  std::size_t i = 0;
  while (i < args.size() && args[i] != "--" && args[i].starts_with("-")) {
    const bool alone = args[i].find('=') != std::string::npos || args[i] == "--help" || args[i] == "-h";
    i += alone ? 1 : 2;
  }
  return std::min(i, args.size());
}

// A local file or directory and where the job finds it.
struct SideFile {
  std::string local, path;
};

Result<std::vector<SideFile>> SideFiles(const Words& words) {
  std::vector<SideFile> files;
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
      return Invalid("--file " + Quote(word) + " is not LOCAL=PATH");
    SideFile file{word.substr(0, equals), {}};
    MILLRACE_ASSIGN(file.path, dfs::CompletePath(word.substr(equals + 1)));
    if (file.path.starts_with(kInputDirectory) || file.path == kOutput ||
        file.path.starts_with(std::string(kOutput) + "/"))
      return Invalid("--file " + Quote(word) +
                     ": /input and /output hold what the job reads and writes; choose another path");
    if (!Present(file.local)) return NoLocalFile(file.local);
    files.push_back(std::move(file));
  }
  return files;
}

// A job over local files.
struct LocalRun {
  cli::RunOptions options;
  std::vector<LocalInput> inputs;
  std::vector<SideFile> files;
};

// Checks what has to be known of a job over local files before a cluster is started.
// Requires: the command line is in the options.
std::optional<int> CheckRun(const Invocation& invocation, LocalRun* local) {
  cli::RunOptions* const run = &local->options;
  run->local = true;
  run->output = WithoutSlashes(run->output);
  if (run->detach)
    return invocation.Fail("local run", Invalid("--detach: the cluster ends with the command; leave it out"),
                           kWrongUsage);
  const Result<cli::Prepared> prepared = cli::PrepareRun(invocation, *run);
  if (!prepared.ok()) return invocation.Fail("local run " + run->job, prepared.status(), kWrongUsage);
  Result<std::vector<LocalInput>> inputs = LocalInputs(run->inputs);
  if (!inputs.ok()) return invocation.Fail("local run", inputs.status());
  local->inputs = std::move(inputs).value();
  if (const Status text = CheckLocalText(local->inputs, prepared->description); !text.ok())
    return invocation.Fail("local run " + run->job, text);
  Result<std::vector<SideFile>> files = SideFiles(run->files);
  if (!files.ok()) return invocation.Fail("local run", files.status(), kWrongUsage);
  local->files = std::move(files).value();
  const Status place = CheckNewDirectory(run->output);
  if (place.ok()) return std::nullopt;
  return invocation.Fail("local run", Status(place.code(), "the output " + place.message()));
}

// Becomes the job's executable, which runs the whole job by itself (client/solo/solo.h), so that a debugger or
// profiler that started this program has the job before it. Returns only if that fails.
int BecomeJob(const Invocation& invocation, const LocalRun& local) {
  const cli::RunOptions& run = local.options;
  const std::string what = "local run --in-process " + run.job;
  if (run.json)
    return invocation.Fail(what, Invalid("--json: there is no job of a cluster to describe; leave it out"),
                           kWrongUsage);
  if (std::ranges::find(run.inputs, "-") != run.inputs.end())
    return invocation.Fail(what, Invalid("standard input (-) cannot be the input; give a file"), kWrongUsage);
  const Result<cli::Prepared> prepared = cli::PrepareRun(invocation, run);
  if (!prepared.ok()) return invocation.Fail(what, prepared.status(), kWrongUsage);
  Words words{prepared->executable, "--millrace-solo", run.output, std::to_string(prepared->request.reduces)};
  for (const auto& [name, value] : prepared->request.parameters) words.push_back(name + "=" + value);
  for (const SideFile& file : local.files) words.push_back("--file=" + file.local + "=" + file.path);
  words.emplace_back("--");
  words.insert(words.end(), run.inputs.begin(), run.inputs.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return invocation.Fail(what, FromErrno(errno, "start " + Quote(words[0])), kNotStarted);
}

class Session {
 public:
  Session(const Invocation& invocation, Signals& signals, LocalCluster& cluster)
      : invocation_(invocation), signals_(signals), cluster_(cluster) {}

  // Returns the exit status of the command. Its output goes to the file `log`, unless that is empty.
  int Run(const Words& argv, bool without_input, const std::string& log = {}) {
    // The directory comes last, because bundled jobs bear names of common tools (grep).
    const char* path = std::getenv("PATH");
    const ProcessSpec spec{
        .argv = argv,
        .environment = {{"MILLRACE_MASTER", cluster_.address()},
                        {"MILLRACE_CLUSTER", ""},  // the value that we were given belongs to another cluster
                        {tls::kTlsEnvironment, ""},
                        {"PATH", (path != nullptr ? std::string(path) + ":" : "") + invocation_.directory()}},
        .log = log,
        .without_input = without_input};
    Result<Process> command = Process::Start(spec, cluster_.registry());
    if (!command.ok()) return invocation_.Fail("local", command.status(), kNotStarted);
    const Result<int> status = WaitInForeground(*command, signals_, cluster_, [this](const std::string& line) {
      console::SayLine(invocation_.console, "millrace: local: " + line);
    });
    if (status.ok()) return *status;
    cluster_lost_ = true;
    return invocation_.Fail("local", status.status());
  }

  // Runs this program once for each step, so that a step prints what its command prints.
  int RunJob(const LocalRun& local) {
    const cli::RunOptions& run = local.options;
    for (const SideFile& file : local.files) {
      if (const int status = Put(file.local, file.path); status != 0) return status;
    }
    Words job{invocation_.self, "run"};
    const Words options = OptionsOf(run);
    job.insert(job.end(), options.begin(), options.end());
    job.insert(job.end(), {"--", run.job});
    for (std::size_t i = 0; i < local.inputs.size(); ++i) {
      const PlacedInput placed = PlaceInput(local.inputs[i], i);
      for (const Placed& file : placed.files) {
        if (const int status = Put(file.local, file.stored); status != 0) return status;
      }
      job.push_back(placed.name);
    }
    // Without input, Ctrl-C leads to no question: the job ends with its cluster.
    if (const int status = Run(job, true); status != 0) {
      if (!cluster_lost_) KeepLogs(run.output);
      return status;
    }
    return FetchOutput(run.output);
  }

 private:
  int Get(const std::string& to) {
    return Run({invocation_.self, "fs", "get", "-T", "--progress", Style(), "--", kOutput, to}, false);
  }

  // The place was free when the job began. If it is not any more, what the job has computed goes to another one, since
  // it would go with the cluster.
  int FetchOutput(const std::string& output) {
    const int status = Get(output);
    if (status != kFailed || cluster_lost_) return status;
    Result<TempDir> other = TempDir::Make("millrace-output-");
    const std::string place = other.ok() ? other->path() + "/" + dfs::LastName(output) : "";
    if (!other.ok() || Get(place) != kDone) {
      console::SayLine(invocation_.console, "millrace: local run: the output is lost: neither " + Quote(output) +
                                                " nor the directory for temporary files (TMPDIR) takes it; make room, "
                                                "and run the job again");
      return status;
    }
    (void)other->Keep();
    console::SayLine(invocation_.console, "millrace: local run: the output is in " + Quote(place));
    return status;
  }

  int Put(const std::string& local, const std::string& path) {
    return Run({invocation_.self, "fs", "put", "--progress", Style(), "--", local, path}, false);
  }

  // The logs go with the cluster, but those of attempts that have failed are what the author of a job asks for next. A
  // file that is there may be anybody's, so it stays, and the log is that of the next number: OUT.log, OUT.2.log.
  void KeepLogs(const std::string& output) {
    std::string log = output + ".log";
    for (int n = 2; Present(log); ++n) log = output + "." + std::to_string(n) + ".log";
    const int status = Run({invocation_.self, "job", "logs", "--failed"}, true, log);
    struct stat entry {};
    if (status == 0 && ::stat(log.c_str(), &entry) == 0 && entry.st_size > 0) {
      console::SayLine(invocation_.console, "millrace: what the failed attempts printed is in " + Quote(log));
    } else {
      ::unlink(log.c_str());  // no attempt of it has failed
    }
  }

  [[nodiscard]] std::string Style() const { return invocation_.console.err_is_terminal ? "bar" : "none"; }

  static Words OptionsOf(const cli::RunOptions& run) {
    Words words{"-o", kOutput, "--shown-output=" + run.output};
    if (run.reducers >= 0) words.insert(words.end(), {"--reducers", std::to_string(run.reducers)});
    for (const std::string& parameter : run.parameters) words.insert(words.end(), {"-D", parameter});
    const auto add = [&words](const std::string& option, const std::string& value) {
      if (!value.empty()) words.push_back(option + "=" + value);
    };
    cli::RunOptions copy = run;
    for (const cli::SchedulingOption& option : cli::SchedulingOptionsOf(&copy)) add(option.flag, *option.field);
    add("--name", run.name);
    if (run.json) words.push_back("--json");
    return words;
  }

  const Invocation& invocation_;
  Signals& signals_;
  LocalCluster& cluster_;
  bool cluster_lost_ = false;
};

}  // namespace

std::optional<int> ParseLocalOptions(const Invocation& invocation, const Words& args, LocalOptions* options) {
  const std::size_t end = EndOfOptions(args);
  ClusterOptions& cluster = options->cluster;
  Words settings;
  console::Arguments arguments("local", "(-- COMMAND... | run JOB LOCAL_INPUT... -o LOCAL_DIR)",
                               "Starts a cluster on this machine, runs a command in it, and removes the cluster. The "
                               "command finds the cluster by "
                               "MILLRACE_MASTER and millrace on its PATH. The exit status is that of the command.");
  arguments.Offline();
  arguments.Integer("--workers", &cluster.workers, 1, 1000, "how many workers (default 3)");
  arguments.Integer("--racks", &cluster.racks, 1, 1000, "racks over which the workers are spread (default 1)");
  arguments.Integer("--datacenters", &cluster.datacenters, 1, 1000,
                    "datacenters over which the racks are spread (default 1)");
  arguments.Text("--scheduler", &cluster.scheduler, "the scheduler (default fifo); external:PATH asks a program");
  arguments.List(
      "--set", &settings,
      "an option of the daemons, NAME=VALUE, such as dfs.replication=2, task.memory=1G, metrics.listen=9100 (the "
      "master's alone) or trace.collector=URL; may be repeated");
  arguments.Text("--keep", &cluster.keep, "an empty or new directory for logs and data, which is kept");
  if (const std::optional<int> status =
          arguments.Parse({args.begin(), args.begin() + static_cast<std::ptrdiff_t>(end)}, invocation.console, 0, 0)) {
    return status;
  }
  if (const std::string program = sched::CutSpec(cluster.scheduler).program;
      !program.empty() && ::access(program.c_str(), R_OK) != 0) {
    return invocation.Fail(
        "local", FromErrno(errno, "--scheduler " + cluster.scheduler + ": program " + Quote(program)), kWrongUsage);
  }
  for (const std::string& setting : settings) {
    if (const Status sorted = SortSetting(setting, &cluster); !sorted.ok())
      return invocation.Fail("local", sorted, kWrongUsage);
  }
  const bool command = end < args.size() && args[end] == "--";
  options->stream = end < args.size() && args[end] == "stream";
  options->run = options->stream || (end < args.size() && args[end] == "run");
  if (end < args.size()) options->command.assign(args.begin() + static_cast<std::ptrdiff_t>(end) + 1, args.end());
  if ((!command && !options->run) || (command && options->command.empty())) {
    const std::string what =
        end < args.size() && !command ? "unexpected word " + Quote(args[end]) : "there is no command to run";
    return invocation.Fail(
        "local", Invalid(what + "; give -- COMMAND..., run JOB LOCAL_INPUT... -o LOCAL_DIR, or stream -input ..."),
        kWrongUsage);
  }
  return std::nullopt;
}

int LocalCommand(const Invocation& invocation, const Words& args) {
  LocalOptions options;
  if (const std::optional<int> status = ParseLocalOptions(invocation, args, &options)) return *status;
  LocalRun run;
  cli::StreamProgram stream;  // which lives as long as the cluster
  if (options.run) {
    const std::optional<int> parsed =
        options.stream ? cli::MakeStreamProgram(invocation, options.command, "local stream", &stream)
                       : cli::ParseRunOptions(invocation, options.command, "local run", &run.options);
    if (parsed) return *parsed;
    if (options.stream) run.options = stream.run;
    if (const std::optional<int> status = CheckRun(invocation, &run)) return *status;
    if (run.options.in_process) return BecomeJob(invocation, run);
  }
  Signals signals;
  Result<LocalCluster> cluster = LocalCluster::Start(invocation.self, options.cluster, signals);
  if (!cluster.ok()) {
    const bool usage =
        cluster.status().code() == StatusCode::kInvalid || cluster.status().code() == StatusCode::kExists;
    const bool interrupted = cluster.status().code() == StatusCode::kCancelled;
    return invocation.Fail("local", cluster.status(), usage ? kWrongUsage : interrupted ? 128 + SIGINT : kFailed);
  }
  for (const std::string& warning : cluster->Warnings())
    console::SayLine(invocation.console, "millrace: local: " + warning);
  Session session(invocation, signals, *cluster);
  return options.run ? session.RunJob(run) : session.Run(options.command, false);
}

}  // namespace millrace::local
