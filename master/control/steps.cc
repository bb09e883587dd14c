// SPDX-License-Identifier: Apache-2.0
#include "master/control/steps.h"

#include <algorithm>
#include <utility>

#include "base/rpc/status_codec.h"

namespace millrace::master {

Steps::Steps(MasterClock& clock, kj::Timer& timer, CommitGate& commits, const DiskRoom& room, const FileSystem& files,
             JobTracker& jobs, Watchers& watchers, ChangeIndex& changes, Dispatcher& dispatcher, kj::TaskSet& tasks,
             Log log)
    : clock_(clock),
      timer_(timer),
      commits_(commits),
      room_(room),
      files_(files),
      jobs_(jobs),
      watchers_(watchers),
      changes_(changes),
      dispatcher_(dispatcher),
      tasks_(tasks),
      log_(std::move(log)) {}

void Steps::Send(Step& step) {
  if (!room_.Held()) jobs_.Decide(&step);
  if (on_decided_) on_decided_();
  dispatcher_.Send(step);
  const auto mark = [this](JobId job) {
    const ChangeIndex::Thing thing{ChangeIndex::Kind::kJob, job.value};
    jobs_.Remembers(job) ? changes_.Mark(thing) : changes_.Remove(thing);
  };
  for (const JobId job : step.ended) mark(job);
  for (const JobId job : step.changed) {
    mark(job);
    if (step.ended.contains(job)) {
      watchers_.Ending(job);
    } else {
      watchers_.Changed(job);
    }
  }
  ArmWake();
}

kj::Promise<void> Steps::Finish(Step step) {
  Send(step);
  if (step.batch.empty()) return Kept();
  auto committed = commits_.Commit(std::move(step.batch)).fork();
  if (!step.ended.empty()) TellEnded(committed.addBranch(), std::move(step.ended));
  return committed.addBranch();
}

void Steps::FinishLazily(Step step) {
  Send(step);
  if (!step.ended.empty()) {
    TellEnded(commits_.Commit(std::move(step.batch)), std::move(step.ended));
  } else if (!step.batch.empty()) {
    commits_.CommitLazily(std::move(step.batch));
  }
}

kj::Promise<void> Steps::FinishReserved(Step step) {
  const std::uint64_t ids = files_.names().reserved_ids();
  if (ids <= ids_on_disk_) {
    FinishLazily(std::move(step));
    return kj::READY_NOW;
  }
  return Finish(std::move(step)).then([this, ids]() { ids_on_disk_ = std::max(ids_on_disk_, ids); });
}

kj::Promise<void> Steps::KeepNumber() {
  Step step = Begin();
  const std::uint64_t numbers = jobs_.ReserveNumbers(&step);
  FinishLazily(std::move(step));
  return Kept().then([this, numbers]() { numbers_on_disk_ = std::max(numbers_on_disk_, numbers); });
}

void Steps::TellEnded(kj::Promise<void> committed, std::set<JobId> ended) {
  ending_.insert(ended.begin(), ended.end());
  tasks_.add(committed.then([this, jobs = std::move(ended)]() {
    for (const JobId job : jobs) {
      ending_.erase(job);
      if (const JobRecord* record = jobs_.FindRecord(job)) {
        log_->info("{}", EndLine(*record));
        if (on_ended_) on_ended_(*record);
      }
      watchers_.Ended(job);
    }
  }));
}

kj::Promise<void> Steps::EndKept(JobId job) {
  if (!ending_.contains(job)) return kj::READY_NOW;
  return Kept();
}

kj::Promise<void> Steps::Shown(std::uint64_t step) {
  if (commits_.HoldsBack(step)) return rpc::ToException(Busy(room_.Line()));
  return commits_.Kept(step);
}

// A policy may wait, for locality or for a window. It is then asked again at that time even if nothing has happened.
void Steps::ArmWake() {
  const std::optional<Micros> next = jobs_.NextWake();
  if (room_.Held() || !next || (wake_ && *wake_ <= *next)) return;
  wake_ = next;
  const Micros delay = std::max<Micros>(0, *next - clock_.Now());
  tasks_.add(timer_.afterDelay(delay * kj::MICROSECONDS).then([this, at = *next]() {
    if (wake_ != at) return;
    wake_.reset();
    FinishLazily(Begin());
  }));
}

}  // namespace millrace::master
