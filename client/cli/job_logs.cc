#include "client/cli/job_logs.h"

#include <algorithm>
#include <optional>

#include "base/console/arguments.h"
#include "base/text.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

using console::Printer;

// Reads an attempt from "m.17.0" or "job3.m.17.0".
Result<AttemptId> AttemptOf(JobId job, const std::string& word) {
  const std::string full = word.starts_with("job") ? word : ToText(job) + "." + word;
  MILLRACE_ASSIGN(const AttemptId attempt, job::ParseAttemptArgument(full));
  if (attempt.task.job != job) return Invalid("attempt " + Quote(word) + " is not one of " + ToText(job));
  return attempt;
}

struct Wanted {
  bool out = false, err = false;
  bool only_failed = false;
};

Status PrintLogs(job::JobClient& client, const AttemptId& attempt, Wanted wanted, Printer& out) {
  const auto print = [&out](std::string_view piece) { out << piece; };
  if (wanted.out) MILLRACE_TRY(client.ReadLog(attempt, job::LogStream::kStdout, print));
  if (wanted.err) MILLRACE_TRY(client.ReadLog(attempt, job::LogStream::kStderr, print));
  return out.Flush();
}

// Prints the logs of all attempts that are wanted. One that cannot be fetched, because its worker is gone, does not
// hide the others.
int PrintAll(const Invocation& invocation, job::JobClient& client, JobId job, Wanted wanted, Printer& out) {
  const Result<std::vector<job::AttemptStatus>> attempts = client.Attempts(job);
  if (!attempts.ok()) return invocation.Fail("job logs", attempts.status());
  int status = kDone;
  for (const job::AttemptStatus& attempt : *attempts) {
    if (wanted.only_failed && attempt.state != job::AttemptState::kFailed) continue;
    out << "==== " << ToText(attempt.attempt) << " on node " << std::to_string(attempt.node.value) << " ("
        << Printable(attempt.host) << "), " << ToString(attempt.state) << (attempt.reason.empty() ? "" : ": ")
        << Printable(attempt.reason) << "\n";
    const Status printed = PrintLogs(client, attempt.attempt, wanted, out);
    if (out.failed()) return invocation.Fail("job logs", out.Flush());
    if (!printed.ok()) status = invocation.Fail("job logs", printed);
  }
  return status;
}

int PrintFailedOfAll(const Invocation& invocation, job::JobClient& client, Wanted wanted, Printer& out) {
  const Result<std::vector<job::JobStatus>> jobs = client.List(false);
  if (!jobs.ok()) return invocation.Fail("job logs", jobs.status());
  int status = kDone;
  for (const job::JobStatus& job : *jobs) {
    if (job.failed_attempts > 0) status = std::max(status, PrintAll(invocation, client, job.job, wanted, out));
  }
  return status;
}

}  // namespace

int LogsCommand(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(
      "job logs", "JOB [ATTEMPT] | --failed",
      "Prints what one of a job's attempts printed, or what all of them did, each under a line that names it. Without "
      "JOB, what all failed attempts of all jobs did.");
  bool only_out = false, only_err = false, only_failed = false;
  arguments.Flag("--stdout", &only_out, "standard output only");
  arguments.Flag("--stderr", &only_err, "standard error only");
  arguments.Flag("--failed", &only_failed, "of attempts that have failed only");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 2)) return *status;
  const Words& operands = arguments.operands();
  if (operands.empty() && !only_failed)
    return invocation.Fail("job logs", Invalid("JOB is missing; --failed alone takes all jobs"), kWrongUsage);
  const Result<JobId> job = operands.empty() ? JobId{} : job::ParseJobArgument(operands[0]);
  if (!job.ok()) return invocation.Fail("job logs", job.status(), kWrongUsage);
  std::optional<AttemptId> one;
  if (operands.size() == 2) {
    const Result<AttemptId> attempt = AttemptOf(*job, operands[1]);
    if (!attempt.ok()) return invocation.Fail("job logs", attempt.status(), kWrongUsage);
    one = *attempt;
  }
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("job logs", files.status(), kUnreachable);
  job::JobClient client(**files);
  const Wanted wanted{only_out || !only_err, only_err || !only_out, only_failed};
  Printer out(invocation.console.out);
  if (operands.empty()) return PrintFailedOfAll(invocation, client, wanted, out);
  if (!one) return PrintAll(invocation, client, *job, wanted, out);
  const Status printed = PrintLogs(client, *one, wanted, out);
  return printed.ok() ? kDone : invocation.Fail("job logs", printed);
}

}  // namespace millrace::cli
