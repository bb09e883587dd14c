// SPDX-License-Identifier: Apache-2.0
#include "lab/usage/usage_command.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/console/table.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/job_list.h"
#include "client/job_client/job_client.h"
#include "lab/journal/journal_lines.h"
#include "lab/usage/attempt_uses.h"
#include "lab/usage/usage_text.h"

namespace millrace::usage {
namespace {

using cli::Invocation;
using console::kDone;

constexpr Micros kLatest = 300 * 366 * kDayLength;  // later than any time that is asked for
constexpr const char* kJournal = "the journal";

struct UsageWords {
  std::string by = "user", since = "7d", until;
  bool csv = false, json = false;
};

// Reads exactly `digits` digits and, unless it is 0, the character that follows them.
bool Cut(std::string_view* text, std::size_t digits, char then, int* number) {
  if (text->size() < digits + (then == 0 ? 0 : 1)) return false;
  const auto [end, error] = std::from_chars(text->data(), text->data() + digits, *number);
  if (error != std::errc() || end != text->data() + digits || *number < 0) return false;
  text->remove_prefix(digits);
  if (then == 0) return true;
  const bool follows = text->front() == then;
  text->remove_prefix(1);
  return follows;
}

// Reads "2026-01-31" or "2026-01-31T12:00".
std::optional<Micros> ParseUtc(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  const bool timed = text.size() == 16;
  if (!timed && text.size() != 10) return std::nullopt;
  if (!Cut(&text, 4, '-', &year) || !Cut(&text, 2, '-', &month) || !Cut(&text, 2, timed ? 'T' : '\0', &day))
    return std::nullopt;
  if (timed && (!Cut(&text, 2, ':', &hour) || !Cut(&text, 2, '\0', &minute))) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1970 || hour > 23 || minute > 59) return std::nullopt;
  const Micros days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * kDayLength + (hour * Micros{60} + minute) * 60 * kSecond;
}

Result<UsageBy> ParseBy(const std::string& text) {
  const auto found = std::ranges::find(kUsageByNames, text);
  if (found != kUsageByNames.end()) return static_cast<UsageBy>(found - kUsageByNames.begin());
  return Invalid("--by " + Quote(text) + " is not one of user, pool, day, job-name");
}

// Checks what can be known before the master has told the time.
Status CheckWords(const UsageWords& words) {
  if (words.csv && words.json) return Invalid("--csv and --json exclude each other; give one of them");
  MILLRACE_TRY(ParseBy(words.by).status());
  if (words.since != "all") MILLRACE_TRY(ParseMoment(words.since, kLatest).status().Within("--since"));
  if (words.until == "all") return Invalid("--until all: all is the earliest beginning (--since all); leave it out");
  return words.until.empty() ? Status::Ok() : ParseMoment(words.until, kLatest).status().Within("--until");
}

Result<UsagePeriod> ReadPeriod(const UsageWords& words, Micros now) {
  UsagePeriod period{0, now};
  if (words.since != "all") {
    const Result<Micros> since = ParseMoment(words.since, now);
    if (!since.ok()) return since.status().Within("--since");
    period.since = *since;
  }
  if (!words.until.empty()) {
    const Result<Micros> until = ParseMoment(words.until, now);
    if (!until.ok()) return until.status().Within("--until");
    period.until = std::min(*until, now);
    period.until_now = *until >= now;
  }
  if (period.since >= period.until) return Invalid("the period ends before it begins; look at --since and --until");
  return period;
}

// Sets since when all is known: since the journal began, and all jobs that are not remembered any more had ended.
void NoteBeginning(const std::string& journal, const std::pair<JobId, Micros>& forgotten, UsageReport* report) {
  report->known_since = report->period.until;
  std::string_view rest = journal, line;
  std::uint64_t number = 0;
  if (sim::NextJournalLine(&rest, &line, &number)) {
    if (const auto first = sched::ParseJournalLine(line)) report->known_since = first->time;
  }
  report->forgotten = forgotten.first.value;
  report->known_since = std::max(report->known_since, forgotten.second);
}

Result<UsageReport> MakeReport(job::JobClient client, UsageBy by, const UsagePeriod& period) {
  UsageReport report;
  report.by = by;
  report.period = period;
  MILLRACE_ASSIGN(const std::string journal, job::ReadWholeJournal(client));
  MILLRACE_ASSIGN(const std::vector<JobStatus> jobs, client.List(false));
  // What is forgotten after this question is missing above, too, or is among the jobs.
  MILLRACE_ASSIGN(const auto forgotten, client.Forgotten());
  MILLRACE_ASSIGN(const std::vector<AttemptUse> uses, ReadAttemptUses(journal, kJournal));
  report.rows = SumUsage(jobs, uses, report.by, report.period);
  report.total = TotalOf(report.rows, "total");
  NoteBeginning(journal, forgotten, &report);
  return report;
}

}  // namespace

Result<Micros> ParseMoment(const std::string& text, Micros now) {
  if (const std::optional<Micros> date = ParseUtc(text)) return *date;
  const Result<Micros> ago = ParseDuration(text);
  if (ago.ok() && *ago <= now) return now - *ago;
  return Invalid(Quote(text) +
                 " is neither a time ago, such as 7d, 12h or 1w, nor a day or minute of UTC, such as "
                 "2026-01-31 or 2026-01-31T12:00");
}

int UsageCommand(const Invocation& invocation, const cli::Words& args) {
  console::Arguments arguments("usage", "",
                               "Sums what jobs used of the cluster: the time in slots, what of it was wasted, bytes, "
                               "and the time for which they waited. Jobs that run count up to now.");
  arguments.Example("--by pool --since 30d");
  arguments.Example("--by day --since 2026-01-01 --until 2026-02-01 --csv");
  UsageWords words;
  arguments.Text("--by", &words.by, "user, pool, day (of UTC) or job-name (default: user)");
  arguments.Text("--since", &words.since,
                 "the beginning: a time ago, such as 7d, 12h or 1w, a day or minute of UTC, or all (default: 7d)");
  arguments.Text("--until", &words.until, "the end: a time ago, or a day or minute of UTC (default: now)");
  arguments.Flag("--csv", &words.csv, "print comma-separated values, times in seconds and sizes in bytes");
  arguments.Flag("--json", &words.json, "print one JSON object");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  if (const Status understood = CheckWords(words); !understood.ok())
    return invocation.Fail("usage", understood, console::kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("usage", files.status(), console::kUnreachable);
  job::JobClient client(**files);
  const Result<UsagePeriod> period = ReadPeriod(words, cli::MasterTime(client));
  if (!period.ok()) return invocation.Fail("usage", period.status(), console::kWrongUsage);
  const Result<UsageReport> report = MakeReport(client, *ParseBy(words.by), *period);
  if (!report.ok()) return invocation.Fail("usage", report.status());
  console::Printer out(invocation.console);
  if (words.json) {
    out << console::Dump(ToJson(*report)) << "\n";
  } else if (words.csv) {
    out << UsageCsv(*report, invocation.console.out_is_terminal);
    console::SayLine(invocation.console, PeriodLine(*report));
  } else {
    out << UsageTable(*report, console::TableWidth(invocation.console, false)) << PeriodLine(*report) << "\n";
  }
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail("usage", written);
}

}  // namespace millrace::usage
