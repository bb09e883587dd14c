// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/console/arguments.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/job_details.h"
#include "client/cli/log_page.h"
#include "client/cli/log_search.h"
#include "client/cli/log_source.h"
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

constexpr std::int64_t kMostLines = 1'000'000;

struct LogChoice {
  bool out = false, err = false;
  bool only_failed = false;
  std::int64_t last_lines = -1;  // of each stream; -1: all
  const RE2* pattern = nullptr;  // not null: print only the lines in which it matches, each after its attempt's name
  bool* found = nullptr;         // is set when such a line is printed
};

Status PrintLog(LogSource& source, const AttemptStatus& attempt, job::LogStream stream, const LogChoice& wanted,
                LogPage& page) {
  std::optional<LogSearch> search;
  if (wanted.pattern != nullptr) {
    search.emplace(*wanted.pattern, [&](std::string_view line) {
      page.Print(ToText(attempt.attempt) + ": " + std::string(line) + "\n");
      *wanted.found = true;
    });
  }
  const auto print = [&](std::string_view piece) {
    if (search) return search->Take(piece);
    page.Print(piece);
  };
  if (wanted.last_lines < 0) {
    const Status read = source.Read(attempt, stream, print);
    if (search) search->Finish();
    return read;
  }
  constexpr std::size_t kTrimAt = std::size_t{4} << 20;
  const auto lines = static_cast<std::uint64_t>(wanted.last_lines);
  std::string kept;
  MILLRACE_TRY(source.Read(attempt, stream, [&](std::string_view piece) {
    kept += piece;
    if (kept.size() > kTrimAt) kept = std::string(LastLines(kept, lines));
  }));
  print(LastLines(kept, lines));
  if (search) search->Finish();
  return Status::Ok();
}

Status PrintLogs(LogSource& source, const AttemptStatus& attempt, LogChoice wanted, LogPage& page) {
  for (const auto& [asked, stream] :
       {std::pair(wanted.out, job::LogStream::kStdout), std::pair(wanted.err, job::LogStream::kStderr)}) {
    if (!asked) continue;
    const Status printed = PrintLog(source, attempt, stream, wanted, page);
    page.EndLog();
    MILLRACE_TRY(printed);
  }
  return page.out().Flush();
}

Result<AttemptStatus> FindAttempt(job::JobClient& client, const AttemptId& attempt) {
  MILLRACE_ASSIGN(const std::vector<AttemptStatus> attempts, client.Attempts(attempt.task.job));
  const auto found = std::ranges::find(attempts, attempt, &AttemptStatus::attempt);
  if (found == attempts.end())
    return NotFound(ToText(attempt) + ": no such attempt; `millrace job tasks " + ToText(attempt.task.job) +
                    "` shows them");
  return *found;
}

// Prints the logs of one attempt.
Status PrintOne(job::JobClient& client, LogSource& source, const AttemptId& attempt, LogChoice wanted, LogPage& page) {
  MILLRACE_ASSIGN(const AttemptStatus found, FindAttempt(client, attempt));
  const Status printed = PrintLogs(source, found, wanted, page);
  return source.Lost().empty() ? printed : Unavailable(source.Lost());
}

// Prints what the attempt prints until it has ended. What it prints last is there when it has.
Status FollowLogs(job::JobClient& client, LogSource& source, const AttemptId& attempt, LogChoice wanted,
                  LogPage& page) {
  constexpr int kAskEveryMs = 500;
  MILLRACE_ASSIGN(const AttemptStatus first, FindAttempt(client, attempt));
  if (first.state != AttemptState::kRunning) return PrintOne(client, source, attempt, wanted, page);
  const auto print = [&page](std::string_view piece) { page.Print(piece); };
  std::uint64_t of_out = 0, of_err = 0;
  while (true) {
    MILLRACE_ASSIGN(const AttemptStatus now, FindAttempt(client, attempt));
    const bool runs = now.state == AttemptState::kRunning;
    Status read;
    const auto follow = [&](job::LogStream stream, std::uint64_t* at) {
      const Result<std::uint64_t> end = client.ReadLog(attempt, stream, *at, print);
      if (end.ok()) *at = *end;
      if (read.ok()) read = end.status();
    };
    if (wanted.out) follow(job::LogStream::kStdout, &of_out);
    if (wanted.err) follow(job::LogStream::kStderr, &of_err);
    MILLRACE_TRY(page.out().Flush());
    const bool none_yet = runs && read.code() == StatusCode::kNotFound;  // its process has not begun
    if (!none_yet) MILLRACE_TRY(read);
    if (!runs) return Status::Ok();
    ::poll(nullptr, 0, kAskEveryMs);
  }
}

// Prints the logs of all attempts that are wanted. One that cannot be fetched, because its worker is gone, does not
// hide the others; those that are lost with a node are told of at the end.
int PrintAll(const Invocation& invocation, job::JobClient& client, LogSource& source, JobId job, LogChoice wanted,
             LogPage& page) {
  const Result<std::vector<AttemptStatus>> attempts = client.Attempts(job);
  if (!attempts.ok()) return invocation.Fail("job logs", attempts.status());
  int status = kDone;
  bool any = false;
  for (const AttemptStatus& attempt : *attempts) {
    if (wanted.only_failed && attempt.state != AttemptState::kFailed) continue;
    any = true;
    if (wanted.pattern == nullptr) {
      page.Print("==== " + ToText(attempt.attempt) + " on node " + std::to_string(attempt.node.value) + " (" +
                 Printable(attempt.host) + "), " + std::string(ToString(attempt.state)) +
                 (attempt.reason.empty() ? "" : ": " + Printable(attempt.reason)) + "\n");
    }
    const std::string lost = source.Lost();
    const Status printed = PrintLogs(source, attempt, wanted, page);
    if (page.out().failed()) return invocation.Fail("job logs", page.out().Flush());
    if (!printed.ok()) status = source.Lost() == lost ? invocation.Fail("job logs", printed) : kFailed;
  }
  if (!any)
    SayWhyNothing(invocation, client, job, "job logs",
                  "no attempt of " + ToText(job) + (wanted.only_failed ? " has failed" : " was launched"));
  return status;
}

int PrintFailedOfAll(const Invocation& invocation, job::JobClient& client, LogSource& source, LogChoice wanted,
                     LogPage& page) {
  const Result<std::vector<JobStatus>> jobs = client.List(false);
  if (!jobs.ok()) return invocation.Fail("job logs", jobs.status());
  int status = kDone;
  for (const JobStatus& job : *jobs) {
    if (job.failed_attempts > 0) status = std::max(status, PrintAll(invocation, client, source, job.job, wanted, page));
  }
  return status;
}

}  // namespace

int LogsCommand(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(
      "job logs", "JOB [ATTEMPT] | --failed",
      "Prints what one of a job's attempts printed, or what all of them did, each under a line that names it. Without "
      "JOB, what all failed attempts of all jobs did.");
  arguments.Example("12 m.3.0 --follow");
  arguments.Example("12 --failed --tail 20");
  arguments.Example("12 --grep 'timed? out'");
  bool only_out = false, only_err = false, only_failed = false, follow = false;
  std::int64_t last_lines = -1;
  std::string pattern;
  arguments.Flag("--stdout", &only_out, "standard output only");
  arguments.Flag("--stderr", &only_err, "standard error only");
  arguments.Flag("--failed", &only_failed, "of attempts that have failed only");
  arguments.Integer("--tail", &last_lines, 0, kMostLines, "only the last lines of each log");
  arguments.Text("--grep", &pattern,
                 "only the lines in which this regular expression (RE2) matches, each after the name of its attempt; "
                 "status 1 if there is none");
  arguments.Flag("-f,--follow", &follow, "of one ATTEMPT: print what it prints until it has ended");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 2)) return *status;
  const Words& operands = arguments.operands();
  if (follow && (operands.size() < 2 || last_lines >= 0 || !pattern.empty())) {
    return invocation.Fail("job logs", Invalid("--follow takes JOB and ATTEMPT, and neither --tail nor --grep"),
                           kWrongUsage);
  }
  std::unique_ptr<RE2> compiled;
  if (!pattern.empty()) {
    Result<std::unique_ptr<RE2>> valid = CompileLinePattern(pattern);
    if (!valid.ok()) return invocation.Fail("job logs", valid.status().Within("--grep"), kWrongUsage);
    compiled = *std::move(valid);
  }
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
  bool found = compiled == nullptr;  // what is asked for
  const LogChoice wanted{only_out || !only_err, only_err || !only_out, only_failed, last_lines, compiled.get(), &found};
  Printer out(invocation.console);
  LogPage page(out);
  LogSource source(invocation, **files, client);
  const auto whether_found = [&](int status) {
    if (!one && !source.Lost().empty()) (void)invocation.Fail("job logs", Unavailable(source.Lost()));
    return status == kDone && !found ? kFailed : status;
  };
  if (operands.empty()) return whether_found(PrintFailedOfAll(invocation, client, source, wanted, page));
  if (!one) return whether_found(PrintAll(invocation, client, source, *job, wanted, page));
  const Status printed =
      follow ? FollowLogs(client, source, *one, wanted, page) : PrintOne(client, source, *one, wanted, page);
  if (printed.ok()) return whether_found(kDone);
  const bool none = printed.code() == StatusCode::kNotFound && printed.message().find("job tasks") == std::string::npos;
  const std::string tasks = "; `millrace job tasks " + std::to_string(job->value) + "` shows the attempts";
  return invocation.Fail("job logs", none ? NotFound(printed.message() + tasks) : printed);
}

}  // namespace millrace::cli
