// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/commands.h"
#include "client/cli/foretold.h"
#include "client/cli/history_json.h"
#include "client/cli/job_details.h"
#include "client/cli/job_list.h"
#include "client/cli/report.h"
#include "client/cli/wait_job.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

using console::Arguments;
using console::kAnyNumber;
using console::Printer;
using Json = nlohmann::ordered_json;

// Every verb but list begins with this: one job that the command line names, and a connection.
struct OneJob {
  std::unique_ptr<dfs::DfsClient> files;
  JobId job;
  [[nodiscard]] job::JobClient client() const { return job::JobClient(*files); }
};

std::optional<int> Begin(const Invocation& invocation, Arguments& arguments, const Words& args, std::size_t operands,
                         OneJob* one) {
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, operands, operands)) return status;
  const Result<JobId> job = job::ParseJobArgument(arguments.operands()[0]);
  if (!job.ok()) return invocation.Fail(arguments.verb(), job.status(), kWrongUsage);
  Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail(arguments.verb(), files.status(), kUnreachable);
  *one = {std::move(files).value(), *job};
  return std::nullopt;
}

Result<std::vector<JobId>> ReadJobs(const Words& words) {
  std::vector<JobId> jobs;
  for (const std::string& word : words) {
    MILLRACE_ASSIGN(const JobId job, job::ParseJobArgument(word));
    jobs.push_back(job);
  }
  return jobs;
}

int ShowJobStatus(const Invocation& invocation, const Words& args) {
  Arguments arguments("job status", "JOB", "Shows a job's progress, and when it will probably start and end.");
  bool json = false;
  arguments.Flag("--json", &json, "print one JSON object");
  OneJob one;
  if (const std::optional<int> status = Begin(invocation, arguments, args, 1, &one)) return *status;
  job::JobClient client = one.client();
  const Result<JobStatus> status = client.GetStatus(one.job);
  if (!status.ok()) return invocation.Fail("job status", status.status());
  const Result<Waits> waits = Ended(status->state) ? Result<Waits>(Waits()) : client.ExplainWaits(one.job);
  if (!waits.ok()) return invocation.Fail("job status", waits.status());
  Sayings sayings;
  if (!Ended(status->state)) {
    Result<std::vector<job::Foretold>> foretold = client.Foretell({one.job}, &sayings.problem);
    if (!foretold.ok()) return invocation.Fail("job status", foretold.status());
    sayings.foretold = std::move(foretold).value();
  }
  // The time matters only to a deadline.
  const Micros now = status->deadline == 0 || Ended(status->state) ? 0 : MasterTime(client);
  Printer out(invocation.console);
  if (json) {
    Json whole = WithWaits(*status, *waits);
    whole["foretold"] = ForetoldOrNull(sayings.foretold, one.job);
    out << console::Dump(whole) + "\n";
  } else {
    out << JobDetails(*status, *waits, sayings, now);
  }
  return kDone;
}

int Wait(const Invocation& invocation, const Words& args) {
  Arguments arguments("job wait", "JOB...",
                      "Waits until the jobs have ended, and reports each. The exit status is 1 if one did not succeed, "
                      "or not in time.");
  arguments.Example("--timeout 1h 12 13");
  bool json = false;
  std::string timeout;
  arguments.Flag("--json", &json, "print the final state of each as JSON, on a line of its own");
  arguments.Text("--timeout", &timeout, "wait for this long at most, such as 10m; the jobs go on");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, kAnyNumber)) return *status;
  const Result<std::vector<JobId>> jobs = ReadJobs(arguments.operands());
  if (!jobs.ok()) return invocation.Fail("job wait", jobs.status(), kWrongUsage);
  Reporting reporting{.json = json, .what = "job wait"};
  if (!timeout.empty()) {
    const Result<Micros> limit = ParseDuration(timeout);
    if (!limit.ok()) return invocation.Fail("job wait", limit.status().Within("--timeout"), kWrongUsage);
    reporting.until = std::chrono::steady_clock::now() + std::chrono::microseconds(*limit);
  }
  SigintHold sigint;
  sigint.BeginThreads();
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect([&] { sigint.EndThreads(); });
  sigint.EndThreads();
  if (!files.ok()) return invocation.Fail("job wait", files.status(), kUnreachable);
  int exit_status = kDone;
  for (const JobId job : *jobs) {
    const int status = WaitAndReport(invocation, **files, job, sigint, reporting);
    if (status > kFailed) return status;  // Ctrl-C
    exit_status = std::max(exit_status, status);
  }
  return exit_status;
}

// Does the same to each of the jobs that the command line names, and says of each what is so now.
int ToEach(const Invocation& invocation, const Words& args, Arguments& arguments, const std::string& now,
           const std::function<Status(job::JobClient&, JobId)>& act) {
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, kAnyNumber)) return *status;
  const Result<std::vector<JobId>> jobs = ReadJobs(arguments.operands());
  if (!jobs.ok()) return invocation.Fail(arguments.verb(), jobs.status(), kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail(arguments.verb(), files.status(), kUnreachable);
  job::JobClient client(**files);
  Printer out(invocation.console);
  int exit_status = kDone;
  for (const JobId job : *jobs) {
    if (const Status done = act(client, job); !done.ok()) {
      exit_status = invocation.Fail(arguments.verb(), done);
    } else {
      out << ToText(job) + " is " + now + "\n";
    }
  }
  return exit_status;
}

int Kill(const Invocation& invocation, const Words& args) {
  Arguments arguments("job kill", "JOB...", "Kills jobs; their output is removed.");
  arguments.Example("12 13 --reason 'wrong input'");
  std::string reason;
  arguments.Text("--reason", &reason, "the reason that the job's status shows");
  return ToEach(invocation, args, arguments, "killed",
                [&](job::JobClient& client, JobId job) { return client.Kill(job, reason); });
}

int HoldJobs(const Invocation& invocation, const Words& args) {
  Arguments arguments("job hold", "JOB...",
                      "Keeps jobs that have not begun to run from starting, until they are released. What an operator "
                      "holds only an operator releases.");
  return ToEach(invocation, args, arguments, "held until `millrace job release` lets it start",
                [](job::JobClient& client, JobId job) { return client.Hold(job); });
}

int ReleaseJobs(const Invocation& invocation, const Words& args) {
  Arguments arguments("job release", "JOB...", "Releases jobs that are held, or were submitted with --hold.");
  return ToEach(invocation, args, arguments, "no longer held",
                [](job::JobClient& client, JobId job) { return client.Release(job); });
}

int SetPriority(const Invocation& invocation, const Words& args) {
  Arguments arguments("job priority", "JOB PRIORITY",
                      "Sets a job's priority: VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW.");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 2, 2)) return *status;
  const Result<std::uint8_t> priority = job::ParsePriority(arguments.operands()[1]);
  if (!priority.ok()) return invocation.Fail("job priority", priority.status(), kWrongUsage);
  Arguments again("job priority", "JOB PRIORITY", "");
  OneJob one;
  if (const std::optional<int> status = Begin(invocation, again, args, 2, &one)) return *status;
  const Status set = one.client().SetPriority(one.job, *priority);
  if (!set.ok()) return invocation.Fail("job priority", set);
  Printer(invocation.console) << ToText(one.job) + " has the priority " + job::PriorityName(*priority) + "\n";
  return kDone;
}

int ShowCounters(const Invocation& invocation, const Words& args) {
  Arguments arguments("job counters", "JOB", "Shows a job's counters: its own and those of the engine.");
  bool json = false;
  arguments.Flag("--json", &json, "print one JSON array");
  OneJob one;
  if (const std::optional<int> status = Begin(invocation, arguments, args, 1, &one)) return *status;
  const Result<Counters> counters = one.client().Counters(one.job);
  if (!counters.ok()) return invocation.Fail("job counters", counters.status());
  if (counters->empty()) {
    job::JobClient client = one.client();
    SayWhyNothing(invocation, client, one.job, "job counters", "no task of " + ToText(one.job) + " has succeeded");
  }
  Printer out(invocation.console);
  if (json) {
    console::JsonList list(out);
    for (const auto& counter : *counters) list.Add(cli::ToJson(counter));
    list.Close();
    return kDone;
  }
  std::vector<Words> rows{{"GROUP", "NAME", "VALUE"}};
  for (const auto& [name, value] : *counters) rows.push_back({name.first, name.second, std::to_string(value)});
  out << FormatTable(rows);
  return kDone;
}

int ShowHistory(const Invocation& invocation, const Words& args) {
  Arguments arguments("job history", "[JOB]",
                      "Prints the journal of a job, or of the whole cluster, one event on each line. "
                      "`millrace sim --replay` reads the journal of the whole cluster (without --json).");
  bool json = false;
  arguments.Flag("--json", &json, "print one JSON array, with an object for each event");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 1)) return *status;
  std::optional<JobId> only;
  if (!arguments.operands().empty()) {
    const Result<JobId> job = job::ParseJobArgument(arguments.operands()[0]);
    if (!job.ok()) return invocation.Fail("job history", job.status(), kWrongUsage);
    only = *job;
  }
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("job history", files.status(), kUnreachable);
  const Result<std::map<std::uint64_t, std::string>> lines = job::ReadJournal(job::JobClient(**files), only);
  if (!lines.ok()) return invocation.Fail("job history", lines.status());
  Printer out(invocation.console);
  console::JsonList list(out);
  for (const auto& [number, line] : *lines) {
    if (json) {
      list.Add(HistoryJson(number, line));
    } else {
      out << line << "\n";
    }
  }
  if (json) list.Close();
  if (const Status written = out.Flush(); !written.ok()) return invocation.Fail("job history", written);
  if (only && lines->empty()) {  // the journal begins when a job may run
    job::JobClient client(**files);
    SayWhyNothing(invocation, client, *only, "job history", "the journal has nothing of " + ToText(*only));
  }
  return kDone;
}

}  // namespace

std::vector<Verb> JobVerbs() {
  return {
      {"list", "the jobs that the master remembers", ListJobs, {}},
      {"status", "a job's progress", ShowJobStatus, {}},
      {"why", "what is ahead of a job, and what would help it", WhyJob, {}},
      {"tasks", "a table of a job's attempts", ListTasks, {}},
      {"wait", "wait until a job has ended", Wait, {}},
      {"kill", "kill a job", Kill, {}},
      {"counters", "a job's counters", ShowCounters, {}},
      {"logs", "what a job's attempts printed", LogsCommand, {}},
      {"rerun", "run a failed map again, alone on this machine", RerunCommand, {}},
      {"history", "what happened to a job, event by event", ShowHistory, {}},
      {"trace", "a job as a trace for ui.perfetto.dev", TraceJob, {}},
      {"priority", "set a job's priority", SetPriority, {}},
      {"hold", "keep a job from starting", HoldJobs, {}},
      {"release", "let a job that is held start", ReleaseJobs, {}},
  };
}

}  // namespace millrace::cli
