// SPDX-License-Identifier: Apache-2.0
#include "master/control/watchers.h"

#include "master/control/wire_codec.h"

namespace millrace::master {

class Watchers::SubscriptionImpl final : public wire::Subscription::Server {
 public:
  SubscriptionImpl(Watchers& watchers, JobId job, std::uint64_t id) : watchers_(watchers), job_(job), id_(id) {}
  ~SubscriptionImpl() {
    const auto it = watchers_.watchers_.find(job_);
    if (it == watchers_.watchers_.end()) return;
    it->second.erase(id_);
    if (it->second.empty()) watchers_.watchers_.erase(it);
  }

 private:
  Watchers& watchers_;
  JobId job_;
  std::uint64_t id_;
};

wire::Subscription::Client Watchers::Add(JobId job, wire::JobWatcher::Client watcher) {
  const std::uint64_t id = next_++;
  watchers_[job].emplace(id, Watcher{std::move(watcher)});
  return kj::heap<SubscriptionImpl>(*this, job, id);
}

void Watchers::Changed(JobId job) {
  if (!watchers_.contains(job)) return;
  changed_.insert(job);
  if (armed_) return;
  armed_ = true;
  tasks_.add(timer_.afterDelay(kPause).then([this]() {
    armed_ = false;
    const std::set<JobId> jobs = std::move(changed_);
    changed_.clear();
    for (const JobId changed : jobs) Tell(changed);
  }));
}

void Watchers::Ended(JobId job) {
  changed_.erase(job);
  Tell(job);
}

void Watchers::Tell(JobId job) {
  const auto it = watchers_.find(job);
  if (it == watchers_.end()) return;
  std::vector<std::uint64_t> ids;
  for (const auto& [id, watcher] : it->second) ids.push_back(id);
  for (const std::uint64_t id : ids) TellOne(job, id);
}

void Watchers::TellOne(JobId job, std::uint64_t id) {
  const auto it = watchers_.find(job);
  if (it == watchers_.end()) return;
  const auto found = it->second.find(id);
  if (found == it->second.end()) return;
  Watcher& watcher = found->second;
  if (watcher.busy) {
    watcher.again = true;
    return;
  }
  const Result<JobView> view = jobs_.View(job);
  if (!view.ok()) return;
  auto request = watcher.client.changedRequest();
  Write(*view, request.initStatus());
  watcher.busy = true;
  auto idle = [this, job, id]() {
    const auto jobs = watchers_.find(job);
    if (jobs == watchers_.end()) return;
    const auto still = jobs->second.find(id);
    if (still == jobs->second.end()) return;
    still->second.busy = false;
    if (std::exchange(still->second.again, false)) TellOne(job, id);
  };
  // The failure is ignored: a client that is gone drops its subscription.
  tasks_.add(commits_.Kept()
                 .then([request = kj::mv(request)]() mutable { return request.send().ignoreResult(); })
                 .catch_([](kj::Exception&&) {})
                 .then(kj::mv(idle)));
}

}  // namespace millrace::master
