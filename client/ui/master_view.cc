// SPDX-License-Identifier: Apache-2.0
#include "client/ui/master_view.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "base/console/json_output.h"
#include "base/thread.h"

namespace millrace::ui {
namespace {

using Json = nlohmann::ordered_json;

// The master plays the jobs forward to foretell, which takes longer the more tasks they have.
constexpr Micros kForetellEvery = 5 * kSecond;
constexpr std::size_t kTasksForetoldASecond = 500;
constexpr std::size_t kMostKnownAttempts = 4;  // jobs
constexpr std::size_t kMostDrawn = 200'000;    // attempts in the timeline
constexpr std::size_t kMostDrawnJobs = 200;
constexpr std::size_t kAttemptsASecond = 2'000;  // that the master is asked for in the mean

template <class List, class ToJson>
std::string ArrayOf(const List& list, const ToJson& to_json) {
  Json array = Json::array();
  for (const auto& element : list) array.push_back(to_json(element));
  return console::Dump(array);
}

std::size_t TasksOf(const JobStatus& job) { return std::size_t{job.maps.total} + job.reduces.total; }

}  // namespace

Micros Monotonic() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Json MasterView::Source() const { return {{"journal", nullptr}}; }

Result<std::shared_ptr<const Snapshot>> MasterView::Latest() {
  const std::lock_guard lock(mutex_);
  const std::size_t live = failure_.ok() && snapshot_ && !mirror_.follows() ? snapshot_->live.size() : 0;
  const Micros pause = std::max(kPollEvery, static_cast<Micros>(live) * kPollEveryPerJob);
  if (!refreshed_ || now_() - *refreshed_ >= pause) {
    failure_ = Refresh();
    refreshed_ = now_();
  }
  MILLRACE_TRY(failure_);
  return snapshot_;
}

Status MasterView::Refresh() {
  auto next = std::make_shared<Snapshot>();
  MILLRACE_ASSIGN(const cli::ClusterReport report, cli::AskForCluster(files_));
  MILLRACE_TRY(mirror_.Refresh(client(), now_()));
  const std::vector<job::Node> nodes = mirror_.Nodes();
  next->nodes = ArrayOf(nodes, cli::NodeDocument);
  for (const job::Node& node : nodes) next->node_list[node.node] = node;
  job::SchedulerView view = mirror_.Scheduler();
  next->cluster = console::Dump(cli::ClusterDocument(report));
  next->scheduler = console::Dump(cli::SchedulerDocument(view));
  next->master_now = view.now;
  for (job::SchedulerView::Wait& wait : view.waits) next->waits[wait.job].push_back(std::move(wait));
  next->live = mirror_.LiveJobs();
  AskWhatIsForetold(next->live);
  next->foretold = foretold_;
  next->live_jobs = TextOf(*next);
  snapshot_ = std::move(next);
  return Status::Ok();
}

// Of many jobs few have changed. Requires: the caller holds `mutex_`.
std::string MasterView::TextOf(const Snapshot& snapshot) {
  std::map<JobId, JobText> texts;
  std::string all = "[";
  for (const JobStatus& job : snapshot.live) {
    const std::uint64_t stamp = mirror_.StampOf(job.job);
    JobText& text = texts[job.job];
    if (const auto before = texts_.find(job.job); before != texts_.end()) text = std::move(before->second);
    if (text.text.empty() || text.stamp != stamp || text.foretold_at != foretold_at_)
      text = {stamp, foretold_at_, console::Dump(snapshot.DocumentOf(job))};
    if (all.size() > 1) all += ',';
    all += text.text;
  }
  texts_ = std::move(texts);
  return all + "]";
}

// Requires: the caller holds `mutex_`.
void MasterView::AskWhatIsForetold(const std::vector<JobStatus>& live) {
  if (live.empty()) {
    foretold_.clear();
    return;
  }
  std::size_t tasks = 0;
  for (const JobStatus& job : live) tasks += TasksOf(job);
  const Micros pause = std::max<Micros>(kForetellEvery, static_cast<Micros>(tasks / kTasksForetoldASecond) * kSecond);
  if (foretelling_ || (foretold_at_ && now_() - *foretold_at_ < pause)) return;
  Result<std::jthread> thread = StartThread([this] {
    NameThread("ui-foretell");
    std::string problem;
    Result<std::vector<job::Foretold>> told = client().Foretell({}, &problem);
    const std::lock_guard lock(mutex_);
    foretold_.clear();
    if (told.ok()) {
      for (job::Foretold& one : *told) foretold_.insert_or_assign(one.job, std::move(one));
    }
    foretold_at_ = now_();
    foretelling_ = false;
  });
  if (!thread.ok()) return;
  foretelling_ = true;
  foreteller_ = *std::move(thread);  // the one before has ended, but for its last step
}

Result<std::vector<JobStatus>> MasterView::Jobs(const JobQuery& query) {
  MILLRACE_TRY(Latest().status());
  const std::lock_guard lock(mutex_);
  return Select(mirror_.jobs(), query);
}

Result<JobStatus> MasterView::Job(JobId job) {
  MILLRACE_TRY(Latest().status());
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = mirror_.jobs().find(job); found != mirror_.jobs().end()) return found->second;
  }
  return client().GetStatus(job);
}

Result<std::shared_ptr<const std::vector<AttemptStatus>>> MasterView::Attempts(JobId job) {
  MILLRACE_ASSIGN(const JobStatus status, Job(job));
  const std::lock_guard lock(attempts_mutex_);
  const auto known = std::ranges::find(attempts_, job, &KnownAttempts::job);
  if (known != attempts_.end()) {
    const auto keep =
        std::max<Micros>(kPollEvery, static_cast<Micros>(known->attempts->size() / kAttemptsASecond) * kSecond);
    if (known->complete || (!Ended(status.state) && now_() - known->taken < keep)) {
      attempts_.splice(attempts_.begin(), attempts_, known);
      return attempts_.front().attempts;
    }
    attempts_.erase(known);
  }
  MILLRACE_ASSIGN(std::vector<AttemptStatus> attempts, client().Attempts(job));
  attempts_.push_front(
      {job, now_(), Ended(status.state), std::make_shared<const std::vector<AttemptStatus>>(std::move(attempts))});
  if (attempts_.size() > kMostKnownAttempts) attempts_.pop_back();
  return attempts_.front().attempts;
}

Status MasterView::ReadJournal(JobId job) {
  return client().History(
      job, [&](std::uint64_t number, const std::string& line) { timeline_.Take(job, number, line); },
      timeline_.LastLine(job));
}

Status MasterView::FeedJob(const JobStatus& job) {
  MILLRACE_TRY(ReadJournal(job.job));
  if (Ended(job.state)) timeline_.End(job.job, job.ended);
  reads_.Read(job, now_());
  return Status::Ok();
}

Status MasterView::Feed(std::optional<JobId> only) {
  MILLRACE_TRY(ReadJournal(JobId{0}));
  if (only) {
    MILLRACE_ASSIGN(const JobStatus status, Job(*only));
    if (reads_.Behind(status, now_())) MILLRACE_TRY(FeedJob(status));
  } else {
    MILLRACE_ASSIGN(const std::vector<JobStatus> jobs, Jobs({}));
    reads_.Keep(jobs);
    std::vector<JobStatus> drawn;
    std::size_t attempts = 0;
    left_out_ = 0;
    for (const JobStatus& job : std::views::reverse(jobs)) {
      if (job.first_launch == 0) continue;
      attempts += TasksOf(job);
      if (drawn.size() < kMostDrawnJobs && (drawn.empty() || attempts <= kMostDrawn)) {
        drawn.push_back(job);
      } else if (!Ended(job.state)) {
        ++left_out_;
      }
    }
    for (const JobStatus* job : reads_.Due(drawn, now_())) {
      const Status fed = FeedJob(*job);
      if (fed.ok()) continue;
      if (fed.code() != StatusCode::kNotFound) return fed;
      reads_.Read(*job, now_());  // some jobs are known without their journal
    }
  }
  timeline_.Settle();
  for (const JobId job : timeline_.Trim(2 * kMostDrawn)) reads_.Forget(job);
  return Status::Ok();
}

Status MasterView::WithTimeline(std::optional<JobId> job,
                                const std::function<void(const Timeline& timeline, std::size_t left_out)>& use) {
  const std::lock_guard lock(timeline_mutex_);
  Micros& fed = fed_.try_emplace(job.value_or(JobId{}), now_() - kPollEvery).first->second;
  if (now_() - fed >= kPollEvery) {
    MILLRACE_TRY(Feed(job));
    fed = now_();
  }
  use(timeline_, left_out_);
  return Status::Ok();
}

Result<job::CallerRights> MasterView::WhoAmI() { return client().WhoAmI(); }

Result<Counters> MasterView::Counters(JobId job) { return client().Counters(job); }

Status MasterView::History(JobId job, std::uint64_t after,
                           const std::function<void(std::uint64_t number, const std::string& line)>& take) {
  return client().History(job, take, after);
}

Status MasterView::ReadLog(const AttemptId& attempt, job::LogStream stream,
                           const std::function<void(std::string_view piece)>& take) {
  return client().ReadLog(attempt, stream, 0, take).status();
}

Result<dfs::FileStatus> MasterView::Stat(const std::string& path) { return files_.Stat(path); }

Status MasterView::List(const std::string& path, const std::function<bool(const dfs::FileStatus&)>& visit) {
  return files_.List(path, visit);
}

}  // namespace millrace::ui
