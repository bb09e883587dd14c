// SPDX-License-Identifier: Apache-2.0
#include "dfs/data/sync_meter.h"

#include <algorithm>
#include <vector>

namespace millrace::dfs {

Micros SyncMeter::Begin(Micros allowed) {
  const Micros now = now_();
  const std::lock_guard lock(mutex_);
  begun_.insert(now + allowed);
  return now;
}

void SyncMeter::Ended(Micros began, Micros allowed) {
  const Micros now = now_();
  const std::lock_guard lock(mutex_);
  begun_.erase(begun_.find(began + allowed));
  ended_.push_back({now, std::max<Micros>(0, now - began - allowed)});
  if (ended_.size() > kMost) ended_.pop_front();
}

SyncTimes SyncMeter::Times() const {
  const Micros now = now_();
  std::vector<std::pair<Micros, std::uint64_t>> times;  // how long, and how often it counts
  std::uint64_t count = 0;
  const auto add = [&](Micros took, std::uint64_t weight) {
    if (weight == 0) return;
    times.emplace_back(took, weight);
    count += weight;
  };
  {
    const std::lock_guard lock(mutex_);
    for (const Sync& sync : ended_) {
      if (now - sync.ended < kWindow) add(sync.took, 1 + static_cast<std::uint64_t>(sync.took / kEach));
    }
    for (const Micros since : begun_) {
      if (now > since) add(now - since, static_cast<std::uint64_t>((now - since) / kEach));
    }
  }
  if (times.empty()) return {disk_};
  std::sort(times.begin(), times.end());
  std::uint64_t before = 0;
  const auto median = std::find_if(times.begin(), times.end(), [&](const auto& time) {
    before += time.second;
    return 2 * before >= count;
  });
  return {disk_, static_cast<std::uint32_t>(count), median->first, times.back().first};
}

}  // namespace millrace::dfs
