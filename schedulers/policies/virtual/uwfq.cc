// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/virtual/uwfq.h"

#include <algorithm>

#include "schedulers/settings/key_list.h"

namespace millrace::sched {

void Declare(KeyList& keys, UwfqSettings& settings) {
  auto& [grace] = settings;
  keys.Duration(
      "grace", &grace, kHour,
      "a user whose next job comes so soon after the last has ended in the virtual cluster goes on as if there "
      "had been no pause");
}

void UwfqOrder::Work(TaskKind kind, Micros slots, Micros passed, Micros now) {
  Phase& phase = phases_[kind];
  phase.queue.Advance(slots * passed, [&](std::uint32_t user, Micros left) {
    phase.users.at(user).idle_since = now - left / std::max<Micros>(slots, 1);
  });
}

void UwfqOrder::Serve(Phase& phase, User& user) {
  user.queue.Advance(phase.queue.now() - user.served, [](JobId, Micros) {});
  user.served = phase.queue.now();
}

void UwfqOrder::Settle(Phase& phase, std::uint32_t number, Micros now) {
  User& user = phase.users.at(number);
  const bool had_work = user.key > phase.queue.now();
  phase.queue.Erase(user.key, number, 1);
  user.key = phase.queue.now() + user.queue.Left();
  phase.queue.Insert(user.key, number, 1);
  if (had_work && user.queue.empty()) user.idle_since = now;
  user.last = user.base;
  for (const auto& [key, id] : user.jobs) {
    Job& job = phase.jobs.At(id);
    user.last = job.deadline = std::max(user.last, job.start) + job.work;
  }
  while (!user.jobs.empty()) {
    const auto [key, id] = *user.jobs.begin();
    if (key > user.queue.now() || !phase.jobs.At(id).ended) break;
    user.base = phase.jobs.At(id).deadline;
    user.jobs.erase(user.jobs.begin());
    phase.jobs.Erase(id);
  }
}

void UwfqOrder::Resize(TaskKind kind, const JobState& of, const JobSize& size, Micros now) {
  Phase& phase = phases_[kind];
  const JobId id = of.progress.job;
  const Job* const known = phase.jobs.Find(id);
  const auto next = static_cast<std::uint32_t>(numbers_.size());
  // A job that has ended has lost the name of its user.
  const std::uint32_t number = known != nullptr ? known->user : numbers_.try_emplace(of.spec.user, next).first->second;
  User& user = phase.users[number];
  Serve(phase, user);
  if (user.queue.empty()) user.start = now - user.idle_since <= grace_ ? user.last : phase.queue.now();
  if (known == nullptr) phase.jobs[id] = {number, user.queue.now(), 0, user.start};
  Job& job = phase.jobs.At(id);
  user.queue.Erase(job.key, id, 1);
  user.jobs.erase({job.key, id});
  job.work = size.work;
  job.key = job.entered + size.work;
  user.queue.Insert(job.key, id, 1);
  user.jobs.insert({job.key, id});
  Settle(phase, number, now);
}

void UwfqOrder::End(TaskKind kind, JobId id, bool served, Micros now) {
  Phase& phase = phases_[kind];
  Job& job = phase.jobs.At(id);
  const std::uint32_t number = job.user;
  User& user = phase.users.at(number);
  Serve(phase, user);
  job.ended = true;
  if (!served) {
    user.queue.Erase(job.key, id, 1);
    user.jobs.erase({job.key, id});
    phase.jobs.Erase(id);
  }
  Settle(phase, number, now);
}

SizedOrder::Rank UwfqOrder::RankOf(SlotKind kind, const JobState& job) const {
  return {phases_[kind.task()].jobs.At(job.progress.job).deadline, 0, 0, job.progress.job};
}

}  // namespace millrace::sched
