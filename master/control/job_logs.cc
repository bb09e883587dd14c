// SPDX-License-Identifier: Apache-2.0
#include "master/control/job_logs.h"

#include <set>
#include <string>

#include "base/text.h"
#include "dfs/wire/job_logs.h"
#include "dfs/wire/path.h"

namespace millrace::master {
namespace {

// Returns the nodes on which attempts of the job were launched.
std::set<NodeId> NodesOf(JobId job, const JobTracker& jobs) {
  std::set<NodeId> nodes;
  const Result<std::vector<AttemptRecord>> attempts = jobs.Attempts(job);
  if (!attempts.ok()) return nodes;
  for (const AttemptRecord& attempt : *attempts) nodes.insert(attempt.node);
  return nodes;
}

std::set<JobId> ToSet(const std::vector<JobId>& jobs) { return {jobs.begin(), jobs.end()}; }

}  // namespace

std::vector<JobLogs::Order> JobLogs::OrdersFor(NodeId node, const std::vector<JobId>& jobs) const {
  const std::set<JobId> beyond = ToSet(jobs_.EndedBeyond(static_cast<std::size_t>(config_.job_logs_keep)));
  std::vector<Order> orders;
  for (const JobId job : jobs) {
    Order& order = orders.emplace_back(Order{job, Fate::kLeave, 0});
    const JobRecord* record = jobs_.FindRecord(job);
    if (record == nullptr || beyond.contains(job)) continue;
    if (!record->outcome) {
      order.fate = Fate::kLater;
      continue;
    }
    const std::set<NodeId> nodes = NodesOf(job, jobs_);
    if (!nodes.contains(node)) continue;
    order.fate = Fate::kArchive;
    order.bytes = config_.job_logs_bytes / nodes.size();
  }
  return orders;
}

Status JobLogs::CheckWorkerWrites(std::string_view path, const tls::PeerIdentity& peer) const {
  const std::optional<dfs::JobLogsPlace> place = dfs::ParseJobLogsPath(path);
  const NodeRecord* node = place ? nodes_.Find(place->node) : nullptr;
  if (node != nullptr && node->facts.certificate == tls::ToText(peer)) return Status::Ok();
  return Denied(tls::ToText(peer) + " may not write " + Quote(path) +
                ": a worker writes the archived logs of its own node and no other file");
}

Result<dfs::CreateOptions> JobLogs::OptionsFor(std::string_view path, const tls::PeerIdentity& peer,
                                               dfs::CreateOptions asked) const {
  const std::optional<dfs::JobLogsPlace> place = dfs::ParseJobLogsPath(path);
  if (peer.role == tls::Role::kWorker) {
    MILLRACE_TRY(CheckWorkerWrites(path, peer));
  } else if (peer.role != tls::Role::kAnyone || !place || nodes_.Find(place->node) == nullptr) {
    return Denied("write " + Quote(path) + ": only workers write below " + std::string(dfs::kJobLogsDirectory) +
                  ", each the logs of its own node; choose another place");
  }
  const JobRecord* record = jobs_.FindRecord(place->job);
  if (record == nullptr || !record->outcome) {
    return Denied("write " + Quote(path) + ": " + ToText(place->job) +
                  (record == nullptr ? " is not remembered" : " has not ended"));
  }
  asked.owner = record->request.owner;
  asked.mode = dfs::kJobLogsMode;
  asked.overwrite = true;  // a worker that was killed may not know that it had done it
  return asked;
}

Status JobLogs::KeepDirectories(std::string_view path, Step* step) {
  for (const std::string_view directory : {dfs::kSystemDirectory, dfs::kJobLogsDirectory, dfs::ParentPath(path)})
    MILLRACE_TRY(files_.KeepDirectory(directory, dfs::kDirectoryMode, step->now, &step->batch));
  return Status::Ok();
}

void JobLogs::Sweep() {
  constexpr Micros kSweepEvery = 5 * kSecond;
  constexpr std::size_t kMostListed = 200'000;
  constexpr std::size_t kMostJobs = 64;  // in one step
  if (clock_.Awake() - swept_ < kSweepEvery) return;
  swept_ = clock_.Awake();
  const Result<std::vector<dfs::FileStatus>> there = files_.names().List(dfs::kJobLogsDirectory, {}, kMostListed);
  if (!there.ok()) return;  // nothing was archived yet
  const std::set<JobId> beyond = ToSet(jobs_.EndedBeyond(static_cast<std::size_t>(config_.job_logs_keep)));
  Step step = steps_.Begin();
  std::size_t removed_jobs = 0;
  for (const dfs::FileStatus& entry : *there) {
    const std::optional<JobId> job = ParseJob(dfs::BaseName(entry.path));
    if (!job || (jobs_.FindRecord(*job) != nullptr && !beyond.contains(*job))) continue;
    if (!room_.CheckChange().ok() && !room_.CheckMakesRoom(files_.BytesToRemove(entry.path)).ok()) break;
    const Status removed = files_.Remove(entry.path, true, &step.batch);
    if (!removed.ok()) {
      log_->warn("the logs of {} stay in {}: {}", ToText(*job), entry.path, removed.message());
      break;
    }
    log_->info("the logs of {} are removed from the file system (master.job_logs_keep)", ToText(*job));
    if (++removed_jobs == kMostJobs) break;
  }
  if (!step.batch.empty()) steps_.FinishLazily(std::move(step));
}

}  // namespace millrace::master
