// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/mirror.h"

#include <algorithm>
#include <set>
#include <utility>

namespace millrace::job {
namespace {

constexpr std::size_t kMostEndedAtOnce = 100;  // jobs of which the end is asked for one by one
constexpr int kMostPieces = 100'000;           // of one answer; a master that has more to tell for ever is none

}  // namespace

Status Mirror::Refresh(JobClient client, Micros now) {
  Status done = Status::Ok();
  if (!too_old_ || asked_for_lists_ >= kTryAgainAfter) {
    done = Follow(client);
    asked_for_lists_ = 0;
  }
  if (done.ok() && too_old_) done = AskForLists(client, now);
  if (!done.ok()) {
    // Another master may come, which knows others.
    cursor_ = {};
    jobs_known_ = false;
    nodes_asked_.reset();
    asked_for_lists_ = kTryAgainAfter;
  }
  return done;
}

Status Mirror::Follow(JobClient& client) {
  for (int pieces = 0; pieces < kMostPieces; ++pieces) {
    MILLRACE_ASSIGN(std::optional<Changes> changes, client.AskChanges(cursor_, live_only_));
    if (!changes && !too_old_) {
      cursor_ = {};
      jobs_known_ = false;
    }
    too_old_ = !changes;
    if (!changes) return Status::Ok();
    const bool more = changes->more;
    Apply(*std::move(changes));
    if (!more) return Status::Ok();
  }
  return Internal("the master had more to tell than there can be");
}

void Mirror::StampAll() {
  stamps_.clear();
  all_stamp_ = ++stamp_;
}

std::uint64_t Mirror::StampOf(JobId job) const {
  if (!jobs_.contains(job)) return 0;
  const auto found = stamps_.find(job);
  return found == stamps_.end() ? all_stamp_ : found->second;
}

void Mirror::KeepJob(JobStatus job) {
  const JobId id = job.job;
  stamps_[id] = stamp_;
  if (Ended(job.state)) waits_.erase(id);
  if (live_only_ && Ended(job.state)) {
    jobs_.erase(id);
    stamps_.erase(id);
  } else {
    jobs_.insert_or_assign(id, std::move(job));
  }
}

void Mirror::Apply(Changes changes) {
  ++stamp_;
  if (changes.anew) {
    StampAll();
    jobs_.clear();
    nodes_.clear();
    waits_.clear();
  }
  now_ = changes.now;
  for (JobStatus& job : changes.jobs) KeepJob(std::move(job));
  for (const JobId job : changes.jobs_gone) {
    jobs_.erase(job);
    waits_.erase(job);
    stamps_.erase(job);
  }
  for (Node& node : changes.nodes) {
    const NodeId number = node.node;
    nodes_.insert_or_assign(number, ToldNode{std::move(node), now_});
  }
  for (const NodeId node : changes.nodes_gone) nodes_.erase(node);
  for (auto& [job, waits] : changes.waits) {
    if (jobs_.contains(job)) stamps_[job] = stamp_;
    if (waits.empty()) {
      waits_.erase(job);
    } else {
      waits_.insert_or_assign(job, std::move(waits));
    }
  }
  if (changes.scheduler) scheduler_ = *std::move(changes.scheduler);
  scheduler_.cost = changes.cost;
  cursor_ = changes.up_to;
}

std::vector<JobStatus> Mirror::LiveJobs() const {
  std::vector<JobStatus> live;
  for (const auto& [id, job] : jobs_) {
    if (!Ended(job.state)) live.push_back(job);
  }
  return live;
}

std::vector<Node> Mirror::Nodes() const {
  std::vector<Node> nodes;
  for (const auto& [number, told] : nodes_) {
    Node node = told.node;
    const Micros passed = std::max<Micros>(0, now_ - told.at);
    const auto left = [passed](Micros time) { return time == 0 ? 0 : std::max(time - passed, kMillisecond); };
    node.avoided_for = left(node.avoided_for);
    node.maintenance_for = left(node.maintenance_for);
    if (node.leaving_in) node.leaving_in = std::max<Micros>(0, *node.leaving_in - passed);
    if (!node.ailing.empty()) node.ailing_for += passed;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// The waits of a job that has ended, or is not told of yet, are older or newer than what is known of it.
SchedulerView Mirror::Scheduler() const {
  SchedulerView view = scheduler_;
  view.now = now_;
  for (const auto& [id, waits] : waits_) {
    const auto job = jobs_.find(id);
    if (job != jobs_.end() && !Ended(job->second.state))
      view.waits.insert(view.waits.end(), waits.begin(), waits.end());
  }
  return view;
}

// ---- a master that is too old ----

Status Mirror::AskForLists(JobClient& client, Micros now) {
  ++asked_for_lists_;
  StampAll();
  MILLRACE_ASSIGN(SchedulerView view, client.ShowScheduler());
  MILLRACE_TRY(AskForJobs(client));
  waits_.clear();
  for (SchedulerView::Wait& wait : std::exchange(view.waits, {})) waits_[wait.job].push_back(std::move(wait));
  now_ = view.now;
  scheduler_ = std::move(view);
  if (nodes_asked_ && now - *nodes_asked_ < kNodesEvery) return Status::Ok();
  MILLRACE_ASSIGN(const std::vector<Node> nodes, client.Nodes());
  nodes_.clear();
  for (const Node& node : nodes) nodes_[node.node] = {node, now_};
  nodes_asked_ = now;
  return Status::Ok();
}

// Only live jobs change. A job that is not live any more has ended, and one may begin and end between two looks.
Status Mirror::AskForJobs(JobClient& client) {
  MILLRACE_ASSIGN(const std::vector<JobStatus> list, client.List(live_only_ || jobs_known_));
  if (live_only_ || !jobs_known_) {
    jobs_.clear();
    for (const JobStatus& job : list) jobs_[job.job] = job;
    jobs_known_ = !live_only_;
    return Status::Ok();
  }
  const JobId newest = jobs_.empty() ? JobId{} : jobs_.rbegin()->first;
  MILLRACE_ASSIGN(const std::vector<JobStatus> fresh, client.List(false, newest));
  std::set<JobId> alive;
  for (const JobStatus& job : list) alive.insert(job.job);
  std::vector<JobId> ended;
  for (const auto& [id, job] : jobs_) {
    if (!Ended(job.state) && !alive.contains(id)) ended.push_back(id);
  }
  if (ended.size() > kMostEndedAtOnce) {
    jobs_known_ = false;
    return AskForJobs(client);
  }
  for (const JobId id : ended) {
    const Result<JobStatus> status = client.GetStatus(id);
    if (status.ok()) {
      jobs_[id] = *status;
    } else if (status.status().code() == StatusCode::kNotFound) {
      jobs_.erase(id);
    } else {
      return status.status();
    }
  }
  for (const JobStatus& job : fresh) jobs_[job.job] = job;
  for (const JobStatus& job : list) jobs_[job.job] = job;
  return Status::Ok();
}

}  // namespace millrace::job
