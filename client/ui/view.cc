// SPDX-License-Identifier: Apache-2.0
#include "client/ui/view.h"

#include <utility>

#include "client/cli/documents.h"
#include "client/cli/foretold.h"
#include "client/cli/job_list.h"

namespace millrace::ui {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json Snapshot::DocumentOf(const JobStatus& job) const {
  const auto its_waits = waits.find(job.job);
  Json json = cli::WithWaits(job, its_waits == waits.end() ? cli::Waits() : its_waits->second);
  const auto told = foretold.find(job.job);
  json["foretold"] =
      Ended(job.state) || told == foretold.end() ? Json(nullptr) : cli::ForetoldOrNull({told->second}, job.job);
  for (const std::string& field : unknown_of_jobs) json[field] = nullptr;
  return json;
}

Json Snapshot::DocumentOf(const AttemptStatus& attempt) const {
  Json json = cli::AttemptDocument(attempt);
  for (const std::string& field : unknown_of_attempts) json[field] = nullptr;
  return json;
}

Result<std::vector<JobStatus>> Select(const std::map<JobId, JobStatus>& jobs, const JobQuery& query) {
  cli::JobFilter filter;
  filter.user = query.user;
  filter.pool = query.pool;
  filter.state = query.state;
  filter.name = query.name;
  MILLRACE_TRY(filter.Check());
  if (query.last > 0) filter.last = query.last;
  std::vector<JobStatus> chosen;
  for (const auto& [id, job] : jobs) {
    if (query.before != 0 && id.value >= query.before) break;
    if ((query.live && Ended(job.state)) || (query.ended && !Ended(job.state))) continue;
    chosen.push_back(job);
  }
  return filter.Pick(std::move(chosen));
}

}  // namespace millrace::ui
