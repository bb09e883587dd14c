#include "client/job_client/read_journal.h"

#include <vector>

namespace millrace::job {

Result<std::map<std::uint64_t, std::string>> ReadJournal(JobClient client, std::optional<JobId> only) {
  std::vector<JobId> jobs;
  if (only) {
    jobs = {*only};
  } else {
    jobs = {JobId{0}};  // job 0 holds the lines of nodes and schedulers
    MILLRACE_ASSIGN(const std::vector<JobStatus> all, client.List(false));
    for (const JobStatus& status : all) jobs.push_back(status.job);
  }
  std::map<std::uint64_t, std::string> lines;
  for (const JobId job : jobs) {
    MILLRACE_TRY(client.History(job, [&](std::uint64_t number, const std::string& line) { lines[number] = line; }));
  }
  return lines;
}

Result<std::string> ReadWholeJournal(JobClient client) {
  MILLRACE_ASSIGN(const auto lines, ReadJournal(client, std::nullopt));
  std::string journal;
  for (const auto& [number, line] : lines) (journal += line) += '\n';
  return journal;
}

}  // namespace millrace::job
