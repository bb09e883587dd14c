// SPDX-License-Identifier: Apache-2.0
#include "master/control/forecasts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/forecast/play_forward.h"

namespace millrace::master {
namespace {

std::uint64_t TasksOf(const sched::ClusterState& cluster) {
  std::uint64_t tasks = 0;
  for (const sched::QueueKey& key : cluster.LiveJobs()) {
    const sched::JobProgress& job = cluster.FindJob(key.job)->progress;
    tasks += job.maps + job.reduces;
  }
  return tasks;
}

}  // namespace

// What goes to the other thread, and comes back.
struct Forecasts::Work {
  std::unique_ptr<sched::Engine> engine;
  sched::Forecaster forecaster;  // a copy
  std::string scheduler;
  std::uint64_t turns = 0;
  std::map<JobId, sched::JobFacts> facts;
  Micros made = 0;
  std::int64_t nanoseconds = 0;  // that the play took
  std::vector<sched::Statement> statements;
};

Forecasts::Forecasts(rpc::Background* background, std::function<std::int64_t()> nanoseconds, const MasterClock& clock,
                     kj::Timer& timer, JobTracker& jobs, const SchedulerChoice& scheduler, Log log)
    : background_(background),
      nanoseconds_(std::move(nanoseconds)),
      clock_(clock),
      timer_(timer),
      jobs_(jobs),
      scheduler_(scheduler),
      log_(std::move(log)) {
  problem_ = WhyNot();
}

Forecasts::~Forecasts() {
  *self_ = nullptr;
  stopping_->store(true);
}

std::string Forecasts::WhyNot() const {
  if (background_ == nullptr) return "this master does not foretell";
  const std::uint64_t tasks = TasksOf(jobs_.cluster());
  if (tasks <= kMostTasks) return {};
  return "the live jobs have " + std::to_string(tasks) + " tasks, more than the " + std::to_string(kMostTasks) +
         " up to which the master foretells";
}

void Forecasts::Poll() {
  if (jobs_.submissions() != submissions_) Begin();
}

kj::Promise<void> Forecasts::Fresh(std::function<bool()> lacks) {
  return Renew(std::move(lacks), 2).exclusiveJoin(timer_.afterDelay(kLongestWait * kj::MICROSECONDS));
}

kj::Promise<void> Forecasts::Renew(std::function<bool()> lacks, int plays) {
  if (!ever_ || clock_.Awake() - begun_ >= kPause) Begin();
  auto again = [this, lacks, plays]() -> kj::Promise<void> {
    if (!lacks || plays == 0 || !problem_.empty() || !lacks()) return kj::READY_NOW;
    const Micros wait = std::max<Micros>(next_ - clock_.Awake(), 0);
    if (wait > kLongestWait) return kj::READY_NOW;
    return timer_.afterDelay(wait * kj::MICROSECONDS).then([this, lacks, plays] { return Renew(lacks, plays - 1); });
  };
  KJ_IF_MAYBE (play, under_way_) {
    return play->addBranch().then(kj::mv(again));
  }
  return again();
}

const sched::Statement* Forecasts::Find(JobId job) const {
  if (Overtaken()) return nullptr;
  const auto at = statements_.find(job);
  return at == statements_.end() ? nullptr : &at->second;
}

std::string Forecasts::problem() const {
  if (!problem_.empty() || !ever_ || !Overtaken()) return problem_;
  return jobs_.last_turn() + ", and the jobs have not been played forward since";
}

void Forecasts::Begin() {
  const Micros now = clock_.Awake();
  if (background_ == nullptr || under_way_ != nullptr || (ever_ && now < next_)) return;
  ever_ = true;
  begun_ = now;
  next_ = now + kPause;
  submissions_ = jobs_.submissions();
  const sched::ClusterState& cluster = jobs_.cluster();
  problem_ = WhyNot();
  if (!problem_.empty() || cluster.LiveJobs().empty()) return statements_.clear();
  auto work = std::make_shared<Work>();
  work->engine = jobs_.DetachEngine();
  if (work->engine == nullptr) {
    problem_ = "the scheduler " + scheduler_.name() + " cannot be played forward";
    return statements_.clear();
  }
  work->forecaster = jobs_.forecaster();
  work->scheduler = scheduler_.name();
  work->turns = jobs_.turns();
  work->made = clock_.Now();
  for (const sched::QueueKey& key : cluster.LiveJobs()) {
    const std::string& program = cluster.FindJob(key.job)->spec.program;
    work->facts[key.job].program = program.empty() ? 0 : sched::HashOf(program);
  }
  auto done = kj::newPromiseAndFulfiller<void>();
  done_ = kj::mv(done.fulfiller);
  under_way_ = done.promise.fork();
  background_->Run(
      [work, clock = nanoseconds_, stopping = stopping_] {
        const std::int64_t begin = clock ? clock() : 0;
        sched::PlayBounds bounds;
        bounds.events = kMostEvents;
        bounds.stop = [&clock, &stopping, begin] {
          return stopping->load() || (clock && clock() - begin > kLongestPlay * 1000);
        };
        const sched::Played play = sched::PlayForward(*work->engine, work->made, work->forecaster.times(), bounds);
        work->statements = work->forecaster.State(play, work->made, work->scheduler, work->facts);
        work->engine.reset();
        work->nanoseconds = clock ? clock() - begin : 0;
      },
      [self = self_, work] {
        if (*self != nullptr) (*self)->Take(work);
      });
}

void Forecasts::Take(const std::shared_ptr<Work>& work) {
  under_way_ = nullptr;
  next_ = std::max(next_, clock_.Awake() + (kShare - 1) * work->nanoseconds / 1000);
  statements_.clear();
  turns_ = work->turns;
  // What was said before a change, or of jobs that have got further since, is no use to anybody.
  if (work->turns == jobs_.turns()) {
    std::vector<sched::Statement> stand;
    for (sched::Statement& statement : work->statements) {
      const sched::JobState* job = jobs_.cluster().FindJob(statement.job);
      if (job == nullptr || !job->alive() || job->on_hold || (statement.start && job->started)) continue;
      if (statement.end.why == sched::Unforeseen::kHeld) continue;  // it was released since
      stand.push_back(std::move(statement));
    }
    jobs_.NoteStatements(stand, work->scheduler, work->facts);
    for (sched::Statement& statement : stand) statements_[statement.job] = std::move(statement);
  }
  done_->fulfill();
}

}  // namespace millrace::master
