// SPDX-License-Identifier: Apache-2.0
#include "master/control/what_helps.h"

#include <algorithm>
#include <set>
#include <utility>

#include "master/jobs/waiting_jobs.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/make_scheduler.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::master {
namespace {

using sched::ChangeKind;

}  // namespace

// What goes to the other thread, and comes back.
struct WhatHelps::Work {
  std::unique_ptr<sched::Engine> engine;
  sched::TaskTimes times;  // a copy
  JobId job;
  std::vector<sched::Change> changes;
  std::shared_ptr<Answer> answer = std::make_shared<Answer>();
};

WhatHelps::WhatHelps(rpc::Background* background, std::function<std::int64_t()> nanoseconds, Forecasts& forecasts,
                     JobTracker& jobs, const SchedulerChoice& scheduler)
    : background_(background),
      nanoseconds_(std::move(nanoseconds)),
      forecasts_(forecasts),
      jobs_(jobs),
      scheduler_(scheduler) {}

WhatHelps::~WhatHelps() {
  *self_ = nullptr;
  stopping_->store(true);
}

std::vector<std::string> WhatHelps::Pools() const {
  std::set<std::string> pools;
  for (const auto& [name, pool] : scheduler_.settings().Named<sched::PoolSettings>()) pools.insert(name);
  for (const sched::QueueKey& key : jobs_.cluster().LiveJobs())
    pools.insert(jobs_.cluster().FindJob(key.job)->spec.PoolName());
  return {pools.begin(), pools.end()};
}

Result<kj::Promise<std::shared_ptr<const WhatHelps::Answer>>> WhatHelps::Ask(Question question) {
  const std::string settings = sched::FormatSettings(scheduler_.settings());
  for (const std::string& name : question.under) {
    std::string why;
    const std::unique_ptr<sched::Policy> policy = sched::MakeScheduler({name, settings}, false, &why);
    if (policy == nullptr) return Invalid(why);
    if (policy->outside() != nullptr)
      return Invalid("scheduler external: its program is not asked what it would do; name another scheduler");
  }
  auto reply = kj::newPromiseAndFulfiller<std::shared_ptr<const Answer>>();
  if (waiting_.size() >= kMostWaiting)
    return Unavailable("many such questions are being answered; ask again in a few seconds");
  if (busy_) {
    waiting_.push_back({std::move(question), kj::mv(reply.fulfiller)});
  } else {
    Begin(std::move(question), kj::mv(reply.fulfiller));
  }
  return kj::mv(reply.promise);
}

void WhatHelps::Begin(Question question, Reply reply) {
  auto work = std::make_shared<Work>();
  Answer& answer = *work->answer;
  const JobRecord* record = jobs_.FindRecord(question.job);
  const sched::JobState* job = jobs_.cluster().FindJob(question.job);
  const std::string waits = record == nullptr || record->outcome ? "" : WhyItWaits(*record);
  if (!waits.empty()) {
    answer.problem = (waits.starts_with("it ") ? "" : "it ") + waits;
  } else if (job == nullptr || !job->alive()) {
    answer.problem = "it has ended";
  } else {
    answer.problem = forecasts_.WhyNot();
  }
  if (answer.problem.empty()) {
    work->engine = jobs_.DetachEngine();
    if (work->engine == nullptr) answer.problem = "the scheduler " + scheduler_.name() + " cannot be played forward";
  }
  if (!answer.problem.empty()) return reply->fulfill(std::shared_ptr<const Answer>(work->answer));
  answer.made = forecasts_.Now();
  work->times = jobs_.forecaster().times();
  work->job = question.job;
  work->changes = ChangesFor(*job, question, &answer.labels);
  busy_ = true;
  reply_ = kj::mv(reply);
  background_->Run(
      [work, clock = nanoseconds_, stopping = stopping_] {
        const std::int64_t begin = clock ? clock() : 0;
        sched::PlayBounds bounds;
        bounds.events = Forecasts::kMostEvents;
        bounds.stop = [&clock, &stopping, begin] {
          return stopping->load() || (clock && clock() - begin > kLongest * 1000);
        };
        work->answer->what = sched::TryChanges(*work->engine, work->answer->made, work->job, work->times,
                                               std::move(work->changes), bounds);
        work->engine.reset();
      },
      [self = self_, work] {
        if (*self != nullptr) (*self)->Take(work);
      });
}

std::vector<sched::Change> WhatHelps::ChangesFor(const sched::JobState& job, const Question& question,
                                                 std::vector<Label>* labels) const {
  std::vector<sched::Change> changes;
  const auto add = [&](sched::Change change, std::string label) {
    labels->push_back({change.kind, std::move(label)});
    changes.push_back(std::move(change));
  };
  for (auto priority = static_cast<std::uint8_t>(job.progress.priority); priority > 0; --priority) {
    const std::uint8_t higher = priority - 1;
    add({.kind = ChangeKind::kPriority, .priority = static_cast<sched::Priority>(higher)},
        std::string(sched::kPriorityNames[higher]));
  }
  if (!job.started) {
    std::size_t tried = 0;
    for (const std::string& pool : question.pools) {
      if (pool == job.spec.PoolName() || tried++ >= kMostPools) continue;
      add({.kind = ChangeKind::kPool, .name = pool}, pool);
    }
  }
  add({.kind = ChangeKind::kNode}, "");
  std::vector<std::string> schedulers = question.under;
  if (schedulers.empty()) {
    for (const std::string_view name : kSchedulers) {
      if (name != scheduler_.name()) schedulers.emplace_back(name);
    }
  }
  const std::string settings = sched::FormatSettings(scheduler_.settings());
  for (const std::string& name : schedulers) {
    sched::Change change{.kind = ChangeKind::kScheduler, .name = name};
    change.policy = sched::MakeScheduler({name, settings}, false, &change.untried);
    std::string label = change.policy == nullptr ? name : std::string(change.policy->name());
    add(std::move(change), std::move(label));
  }
  return changes;
}

void WhatHelps::Take(const std::shared_ptr<Work>& work) {
  busy_ = false;
  reply_->fulfill(std::shared_ptr<const Answer>(work->answer));
  while (!busy_ && !waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    Begin(std::move(next.question), kj::mv(next.reply));
  }
}

}  // namespace millrace::master
