// SPDX-License-Identifier: Apache-2.0
#include "client/cli/job_list.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/commands.h"
#include "client/cli/report.h"
#include "client/cli/verbs.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

using console::Printer;
using Json = nlohmann::ordered_json;

constexpr JobState kStates[] = {JobState::kWaiting, JobState::kRunning, JobState::kSucceeded, JobState::kFailed,
                                JobState::kKilled};

// Returns the reason why the job has no more slots of the first kind that it could use.
std::string FirstWait(const JobStatus& status, const Waits& waits) {
  const auto wait = std::ranges::find(waits, status.job, &job::SchedulerView::Wait::job);
  return wait == waits.end() ? "" : wait->reason;
}

int PrintList(const Invocation& invocation, const std::vector<JobStatus>& jobs, const Waits& waits, bool json) {
  Printer out(invocation.console);
  if (json) {
    console::JsonList list(out);
    for (const JobStatus& status : jobs) list.Add(WithWaits(status, waits));
    list.Close();
  } else {
    const Micros now = SystemClock().Now();
    std::vector<Words> rows{
        {"JOB", "STATE", "PRIORITY", "OWNER", "POOL", "SUBMITTED", "RAN", "MAPS", "REDUCES", "NAME", "WHY IT WAITS"}};
    for (const JobStatus& status : jobs) {
      const Micros ran = TimeRun(status, now);
      // The first column is a plain number, which scripts sort and compare.
      rows.push_back({std::to_string(status.job.value), std::string(ToString(status.state)),
                      job::PriorityName(status.priority), status.owner, status.pool,
                      console::FormatTime(status.submitted), ran == 0 ? "-" : FormatDuration(ran),
                      Percent(status.maps.fraction) + " of " + std::to_string(status.maps.total),
                      Percent(status.reduces.fraction) + " of " + std::to_string(status.reduces.total), status.name,
                      FirstWait(status, waits)});
    }
    out << FormatTable(rows);
  }
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail("job list", written);
}

// The options of the command line; `live` asks for live jobs only.
struct Wanted {
  JobFilter filter;
  std::string since;
  std::int64_t last = 0;
  bool json = false, live = false;
};

Status Finish(Wanted* wanted) {
  MILLRACE_TRY(wanted->filter.Check());
  if (wanted->last > 0) wanted->filter.last = static_cast<std::size_t>(wanted->last);
  if (wanted->since.empty()) return Status::Ok();
  const Result<Micros> ago = ParseDuration(wanted->since);
  if (!ago.ok()) return ago.status().Within("--since");
  wanted->filter.since = SystemClock().Now() - *ago;
  return Status::Ok();
}

}  // namespace

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
  std::string all;
  for (const JobState known : kStates) {
    if (state.empty() || state == ToString(known)) return Status::Ok();
    all += (all.empty() ? "" : ", ") + std::string(ToString(known));
  }
  return Invalid("--state " + Quote(state) + " is not one of " + all);
}

std::vector<JobStatus> JobFilter::Pick(std::vector<JobStatus> jobs) const {
  std::erase_if(jobs, [this](const JobStatus& status) {
    return (!user.empty() && status.owner != user) || (!pool.empty() && status.pool != pool) ||
           (!state.empty() && ToString(status.state) != state) || status.name.find(name) == std::string::npos ||
           (since && status.submitted < *since && status.ended != 0 && status.ended < *since);
  });
  if (last && jobs.size() > *last) jobs.erase(jobs.begin(), jobs.end() - static_cast<std::ptrdiff_t>(*last));
  return jobs;
}

Micros TimeRun(const JobStatus& status, Micros now) {
  if (status.first_launch == 0) return 0;
  return std::max<Micros>(0, (status.ended == 0 ? now : status.ended) - status.first_launch);
}

int ListJobs(const Invocation& invocation, const Words& args) {
  console::Arguments arguments("job list", "",
                               "Lists the jobs that the master remembers, in the order of their submission.");
  arguments.Example("--live");
  arguments.Example("--user ann --state failed --since 2h");
  Wanted wanted;
  arguments.Flag("--json", &wanted.json, "print one JSON array");
  arguments.Flag("--live", &wanted.live, "only jobs that have not ended");
  arguments.Text("--user", &wanted.filter.user, "only jobs of this user");
  arguments.Text("--pool", &wanted.filter.pool, "only jobs of this pool");
  arguments.Text("--state", &wanted.filter.state,
                 "only jobs in this state: waiting, running, succeeded, failed, killed");
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
  return waits.ok() ? PrintList(invocation, wanted.filter.Pick(*jobs), *waits, wanted.json)
                    : invocation.Fail("job list", waits.status());
}

}  // namespace millrace::cli
