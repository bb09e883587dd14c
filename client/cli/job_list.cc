// SPDX-License-Identifier: Apache-2.0
#include "client/cli/job_list.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/commands.h"
#include "client/cli/foretold.h"
#include "client/cli/listing.h"
#include "client/cli/report.h"
#include "client/cli/verbs.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

using console::Printer;
using Json = nlohmann::ordered_json;

constexpr const char* kHeld = "held";

// Returns the words of StateWord, in the order of a job's life.
std::vector<std::string> StateWords() {
  std::vector<std::string> words{std::string(ToString(JobState::kWaiting)), kHeld};
  for (const JobState state :
       {JobState::kRunning, JobState::kSucceeded, JobState::kFailed, JobState::kKilled, JobState::kLost})
    words.emplace_back(ToString(state));
  return words;
}

// Returns what the job waits for besides slots; else the reason why it has no more slots of the first kind that it
// could use.
std::string FirstWait(const JobStatus& status, const Waits& waits) {
  if (status.state == JobState::kWaiting && !status.reason.empty()) return Printable(status.reason);
  const auto wait = std::ranges::find(waits, status.job, &job::SchedulerView::Wait::job);
  return wait == waits.end() ? "" : wait->reason;
}

double Number(Micros value) { return static_cast<double>(value); }

using ManyForetold = std::vector<job::Foretold>;

// Returns when the job will probably start, or end, for a cell; "-" if that is unknown, or past.
std::string CellOf(const ManyForetold& foretold, JobId job, bool start) {
  const auto at = std::ranges::find(foretold, job, &job::Foretold::job);
  if (at == foretold.end() || (start && !at->start)) return "-";
  return ForetoldTime(start ? *at->start : at->end, at->made);
}

double KeyOf(const ManyForetold& foretold, JobId job, bool start) {
  const auto at = std::ranges::find(foretold, job, &job::Foretold::job);
  if (at == foretold.end()) return 0;
  if (start) return at->start ? static_cast<double>(at->start->at.value_or(0)) : 0;
  return static_cast<double>(at->end.at.value_or(0));
}

// The columns of the list. The first one is a plain number, which scripts sort and compare.
Listing<JobStatus> Fields(const Waits& waits, const ManyForetold& foretold, bool foretells, Micros now) {
  using Status = const JobStatus&;
  const auto text = [](std::string JobStatus::*field) { return [field](Status job) { return job.*field; }; };
  const auto phase = [](Phase JobStatus::*field) {
    return [field](Status job) {
      const Phase& shown = job.*field;
      return shown.total == 0 ? std::string("-") : Percent(shown.fraction) + " of " + std::to_string(shown.total);
    };
  };
  const auto fraction = [](Phase JobStatus::*field) {
    return [field](Status job) { return SortKey((job.*field).fraction, ""); };
  };
  constexpr int kAlways = console::kAlwaysShown;
  return Listing<JobStatus>({
      {"job",
       {"JOB", kAlways},
       [](Status job) { return std::to_string(job.job.value); },
       [](Status job) { return SortKey(job.job.value, ""); }},
      {"state", {"STATE", kAlways}, StateWord, {}},
      {"priority",
       {"PRIORITY", 1},
       [](Status job) { return job::PriorityName(job.priority); },
       [](Status job) { return SortKey(job.priority, ""); }},
      {"owner", {"OWNER", 6, 8}, text(&JobStatus::owner), {}},
      {"pool", {"POOL", 3, 8}, text(&JobStatus::pool), {}},
      {"submitted",
       {"SUBMITTED (UTC)", 2},
       [](Status job) { return console::FormatTime(job.submitted); },
       [](Status job) { return SortKey(Number(job.submitted), ""); }},
      {"ran",
       {"RAN", 7},
       [now](Status job) {
         const Micros ran = TimeRun(job, now);
         return ran == 0 ? std::string("-") : FormatDuration(ran);
       },
       [now](Status job) { return SortKey(Number(TimeRun(job, now)), ""); }},
      {"maps", {"MAPS", 8}, phase(&JobStatus::maps), fraction(&JobStatus::maps)},
      {"reduces", {"REDUCES", 8}, phase(&JobStatus::reduces), fraction(&JobStatus::reduces)},
      {"name", {"NAME", kAlways, 10}, text(&JobStatus::name), {}},
      {"start",
       {"STARTS (UTC)", kAlways},
       [&foretold](Status job) { return CellOf(foretold, job.job, true); },
       [&foretold](Status job) { return SortKey(KeyOf(foretold, job.job, true), ""); },
       !foretells},
      {"done",
       {"DONE (UTC)", kAlways},
       [&foretold](Status job) { return CellOf(foretold, job.job, false); },
       [&foretold](Status job) { return SortKey(KeyOf(foretold, job.job, false), ""); },
       !foretells},
      {"why", {"WHY IT WAITS", 5, 36}, [&waits](Status job) { return FirstWait(job, waits); }, {}},
  });
}

std::string Totals(const std::vector<JobStatus>& jobs) {
  if (jobs.empty()) return "no jobs\n";
  std::vector<std::string> states;
  for (const JobStatus& job : jobs) states.push_back(StateWord(job));
  return Counted(jobs.size(), "job: ", "jobs: ") + CountsInWords(states, StateWords()) + "\n";
}

// The options of the command line; `live` asks for live jobs only.
struct Wanted {
  JobFilter filter;
  ListingOptions listing;
  std::string since;
  Micros ago = 0;  // `since`, if it is not empty
  std::int64_t last = 0;
  bool json = false, live = false, start = false;

  // Returns true if the list tells when jobs start and end.
  [[nodiscard]] bool Foretells() const {
    const auto names = [](const std::string& list) {
      const std::vector<std::string> columns = ColumnNames(list);
      return std::ranges::find(columns, "start") != columns.end() ||
             std::ranges::find(columns, "done") != columns.end();
    };
    return start || (listing.wide && listing.format.empty() && !json) || names(listing.format) || names(listing.sort);
  }
};

Status Finish(Wanted* wanted) {
  MILLRACE_TRY(wanted->filter.Check());
  for (const JobState ended : {JobState::kSucceeded, JobState::kFailed, JobState::kKilled}) {
    if (wanted->live && wanted->filter.state == ToString(ended))
      return Invalid("--live and --state " + wanted->filter.state + " exclude each other; give one of them");
  }
  MILLRACE_TRY(Fields({}, {}, false, 0).Check(wanted->listing));
  if (wanted->last > 0) wanted->filter.last = static_cast<std::size_t>(wanted->last);
  if (wanted->since.empty()) return Status::Ok();
  const Result<Micros> ago = ParseDuration(wanted->since);
  if (!ago.ok()) return ago.status().Within("--since");
  wanted->ago = *ago;
  return Status::Ok();
}

int PrintList(const Invocation& invocation, std::vector<JobStatus> jobs, const Waits& waits,
              const ManyForetold& foretold, Micros now, const Wanted& wanted) {
  Printer out(invocation.console);
  const Listing<JobStatus> listing = Fields(waits, foretold, wanted.Foretells(), now);
  listing.Sort(wanted.listing, &jobs);
  if (wanted.json) {
    console::JsonList list(out);
    for (const JobStatus& status : jobs) {
      Json json = WithWaits(status, waits);
      if (wanted.Foretells()) json["foretold"] = ForetoldOrNull(foretold, status.job);
      list.Add(json);
    }
    list.Close();
  } else {
    out << listing.Text(wanted.listing, jobs, invocation.console);
    if (wanted.listing.totals || invocation.console.out_is_terminal) out << Totals(jobs);
  }
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail("job list", written);
}

}  // namespace

std::string StateWord(const JobStatus& status) {
  return status.held && status.state == JobState::kWaiting ? kHeld : std::string(ToString(status.state));
}

std::string Percent(double fraction) { return std::to_string(static_cast<int>(fraction * 100)) + "%"; }

Json WithWaits(const JobStatus& status, const Waits& waits) {
  Json json = cli::ToJson(status);
  json["waits"] = Json::array();
  for (const job::SchedulerView::Wait& wait : waits) {
    if (wait.job == status.job) json["waits"].push_back(WaitToJson(wait));
  }
  return json;
}

Status JobFilter::Check() const {
  const std::vector<std::string> known = StateWords();
  if (state.empty() || std::ranges::find(known, state) != known.end()) return Status::Ok();
  return Invalid("--state " + Quote(state) + " is not one of " + Joined(known, ", "));
}

std::vector<JobStatus> JobFilter::Pick(std::vector<JobStatus> jobs) const {
  std::erase_if(jobs, [this](const JobStatus& status) {
    return (!user.empty() && status.owner != user) || (!pool.empty() && status.pool != pool) ||
           (!state.empty() && ToString(status.state) != state && StateWord(status) != state) ||
           status.name.find(name) == std::string::npos ||
           (since && status.submitted < *since && status.ended != 0 && status.ended < *since);
  });
  if (last && jobs.size() > *last) jobs.erase(jobs.begin(), jobs.end() - static_cast<std::ptrdiff_t>(*last));
  return jobs;
}

Micros TimeRun(const JobStatus& status, Micros now) {
  if (status.first_launch == 0) return 0;
  return std::max<Micros>(0, (status.ended == 0 ? now : status.ended) - status.first_launch);
}

Micros MasterTime(job::JobClient& client) {
  const Result<job::SchedulerView> view = client.ShowScheduler();
  return view.ok() && view->now > 0 ? view->now : SystemClock().Now();
}

int ListJobs(const Invocation& invocation, const Words& args) {
  console::Arguments arguments("job list", "",
                               "Lists the jobs that the master remembers, in the order of their submission. Times are "
                               "UTC, and RAN too, by the master's clock. On a terminal the table has the columns for "
                               "which there is room.");
  arguments.Example("--live");
  arguments.Example("--user ann --state failed --since 2h");
  arguments.Example("--live --start");
  arguments.Example("--format job,state,ran,name --sort ran -r");
  Wanted wanted;
  wanted.listing.Declare(arguments,
                         "job, state, priority, owner, pool, submitted, ran, maps, reduces, name, start, done, why");
  arguments.Flag("--json", &wanted.json, "print one JSON array");
  arguments.Flag("--start", &wanted.start, "tell when the jobs will probably start and be done, with 90% intervals");
  arguments.Flag("--live", &wanted.live, "only jobs that have not ended");
  arguments.Text("--user", &wanted.filter.user, "only jobs of this user");
  arguments.Text("--pool", &wanted.filter.pool, "only jobs of this pool");
  arguments.Text(
      "--state", &wanted.filter.state,
      "only jobs in this state: waiting, held (of the waiting ones), running, succeeded, failed, killed, lost");
  arguments.Text("--name", &wanted.filter.name, "only jobs whose names contain this");
  arguments.Text("--since", &wanted.since, "only jobs that were submitted or ended in the last TIME, such as 2h");
  arguments.Integer("--last", &wanted.last, 1, 1'000'000, "only the last N");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  if (const Status finished = Finish(&wanted); !finished.ok())
    return invocation.Fail("job list", finished, kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("job list", files.status(), kUnreachable);
  job::JobClient client(**files);
  const Result<std::vector<JobStatus>> jobs = client.List(wanted.live);
  if (!jobs.ok()) return invocation.Fail("job list", jobs.status());
  const Result<Waits> waits = client.ExplainAllWaits();
  if (!waits.ok()) return invocation.Fail("job list", waits.status());
  ManyForetold foretold;
  if (wanted.Foretells()) {
    std::string problem;
    Result<ManyForetold> told = client.Foretell({}, &problem);
    if (!told.ok()) return invocation.Fail("job list", told.status());
    foretold = std::move(told).value();
    if (!problem.empty())
      console::SayLine(invocation.console, "millrace: job list: when jobs start and end is unknown: " + problem);
  }
  // The times are the master's. Only --since and the time that a live job has run depend on the time of day.
  const bool live = std::ranges::any_of(*jobs, [](const JobStatus& job) { return job.ended == 0; });
  const Micros now = !wanted.since.empty() || (live && !wanted.json) ? MasterTime(client) : 0;
  if (!wanted.since.empty()) wanted.filter.since = now - wanted.ago;
  return PrintList(invocation, wanted.filter.Pick(*jobs), *waits, foretold, now, wanted);
}

}  // namespace millrace::cli
