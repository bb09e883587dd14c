// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/synthetic_worker.h"

#include <utility>

namespace millrace::worker {

SyntheticRunner::SyntheticRunner(kj::Timer& timer, Random random, SyntheticTimes times)
    : timer_(timer), random_(random), times_(times) {}

void SyntheticRunner::SetUpJob(JobId, std::string, OwnedMessage<task::wire::SetUp>) {}

void SyntheticRunner::RunMap(OwnedMessage<task::wire::RunMap> launch) {
  Run(FromWire(launch.reader().getAttempt()), times_.map_least, times_.map_most);
}

void SyntheticRunner::RunReduce(OwnedMessage<task::wire::RunReduce> launch) {
  Run(FromWire(launch.reader().getAttempt()), times_.reduce_least, times_.reduce_most);
}

void SyntheticRunner::Run(const AttemptId& attempt, kj::Duration least, kj::Duration most) {
  const std::uint64_t run = runs_++;
  running_[attempt] = run;
  const auto spread = static_cast<std::uint64_t>((most - least) / kj::MICROSECONDS);
  const auto extra = static_cast<std::int64_t>(random_.Below(spread + 1));
  const bool slow = times_.slow > 0 && random_.Unit() < times_.slow;
  const kj::Duration time = (least + extra * kj::MICROSECONDS) * (slow ? 10 : 1);
  const auto after = [&](kj::Duration delay, auto then) {
    tasks_.Add(timer_.afterDelay(delay).then([this, attempt, run, then] {
      const auto found = running_.find(attempt);
      if (found != running_.end() && found->second == run) then();
    }));
  };
  for (int i = 1; i <= times_.reports; ++i) {
    const float fraction = static_cast<float>(i) / static_cast<float>(times_.reports + 1);
    after(time * i / (times_.reports + 1), [this, attempt, fraction] { Report(attempt, fraction); });
  }
  after(time, [this, attempt] { End(attempt); });
}

void SyntheticRunner::Report(const AttemptId& attempt, float fraction) {
  if (observer_ == nullptr) return;
  OwnedMessage<task::wire::Progress> progress;
  ToWire(attempt, progress.builder().initAttempt());
  progress.builder().setFraction(fraction);
  observer_->TaskProgress(attempt, std::move(progress));
}

void SyntheticRunner::End(const AttemptId& attempt) {
  running_.erase(attempt);
  const bool fails = random_.Unit() < times_.failure;
  if (observer_ == nullptr) return;
  if (fails) return observer_->TaskFailed(attempt, {"drawn to fail", ""});
  OwnedMessage<task::wire::Done> done;
  ToWire(attempt, done.builder().initAttempt());
  if (fill_) fill_(attempt, done.builder());
  observer_->TaskDone(attempt, std::move(done));
}

kj::Promise<void> SyntheticRunner::Kill(const AttemptId& attempt) {
  running_.erase(attempt);
  return kj::READY_NOW;
}

kj::Promise<void> SyntheticRunner::EndJob(JobId job) {
  std::erase_if(running_, [&](const auto& entry) { return entry.first.task.job == job; });
  return kj::READY_NOW;
}

namespace {

// This copier has the output of a map as soon as it is announced, and is complete a turn of the loop after the last.
class SyntheticCopier final : public ReduceCopier {
 public:
  SyntheticCopier(std::uint32_t maps, shuffle::CopyCallbacks callbacks, rpc::TaskGroup& tasks)
      : maps_(maps), callbacks_(std::make_shared<shuffle::CopyCallbacks>(std::move(callbacks))), tasks_(tasks) {
    CompleteIfAll();
  }
  void Ready(const std::vector<shuffle::Source>& sources) override {
    for (const auto& source : sources) {
      if (!left_out_.contains(source.map.task.index)) copied_.insert(source.map.task.index);
    }
    CompleteIfAll();
  }
  void Gone(const std::vector<AttemptId>&) override {}
  void LeaveOut(const std::vector<std::uint32_t>& maps) override {
    for (const std::uint32_t map : maps) {
      if (!copied_.contains(map)) left_out_.insert(map);
    }
    CompleteIfAll();
  }
  [[nodiscard]] std::uint32_t copied() const override { return static_cast<std::uint32_t>(copied_.size()); }
  [[nodiscard]] std::uint64_t bytes_fetched() const override { return 0; }

 private:
  void CompleteIfAll() {
    if (complete_ || copied_.size() + left_out_.size() < maps_) return;
    complete_ = true;
    std::vector<shuffle::CopiedSegment> segments;
    for (const std::uint32_t map : copied_) segments.push_back({map, {}, {}});
    tasks_.Add(kj::evalLater([callbacks = std::weak_ptr(callbacks_), segments = std::move(segments)]() mutable {
      if (const auto alive = callbacks.lock()) alive->complete(std::move(segments), 0);
    }));
  }

  std::uint32_t maps_;
  std::shared_ptr<shuffle::CopyCallbacks> callbacks_;  // die with the copier
  rpc::TaskGroup& tasks_;
  std::set<std::uint32_t> copied_, left_out_;
  bool complete_ = false;
};

}  // namespace

void SyntheticPlane::AddMapOutput(const AttemptId& map, std::uint32_t /*partitions*/, const std::string&,
                                  std::function<void(Status)> then) {
  served_.insert(map);
  tasks_.Add(kj::evalLater([then = std::move(then)] { then(Status::Ok()); }));
}

void SyntheticPlane::RemoveMapOutputs(JobId job) {
  std::erase_if(served_, [&](const AttemptId& map) { return map.task.job == job; });
}

std::unique_ptr<ReduceCopier> SyntheticPlane::StartCopy(const AttemptId&, std::uint32_t maps, std::string,
                                                        shuffle::CopyCallbacks callbacks) {
  return std::make_unique<SyntheticCopier>(maps, std::move(callbacks), tasks_);
}

void SyntheticPlane::Replicate(const dfs::StoredBlock& block, std::vector<dfs::ReplicaHost> targets,
                               std::string /*token*/) {
  replications_.push_back({block, std::move(targets)});
}

AttemptPaths SyntheticFiles::Paths(const AttemptId& attempt) const {
  const std::string stem = ToText(attempt);
  return {attempt.task.reduce() ? "" : stem + ".run", attempt.task.reduce() ? stem + ".copy" : "", stem, stem + ".out",
          stem + ".err"};
}

}  // namespace millrace::worker
