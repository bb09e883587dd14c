// SPDX-License-Identifier: Apache-2.0
// SyncMeter measures the recent sync times of one disk. A disk that goes bad without failing shows it first in these
// times.
//
// It looks back for kWindow. A sync counts once, and once more for each kEach that it took: a sync of 30 s counts as
// much as the ten that could have been made meanwhile. A sync under way counts as soon as it has taken kEach. Thread
// rule: any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/ids/time.h"

namespace millrace::dfs {

struct SyncTimes {
  std::string disk;
  std::uint32_t syncs = 0;  // counted as above; 0: no measurements
  Micros median = 0, worst = 0;
};

class SyncMeter {
 public:
  static constexpr Micros kWindow = 30 * kSecond;
  static constexpr Micros kEach = 3 * kSecond;
  static constexpr std::size_t kMost = 256;  // the number of latest syncs remembered
  // The time that writing the bytes needs at this rate is not counted.
  static constexpr std::uint64_t kBytesPerSecond = std::uint64_t{16} << 20;

  // `disk` is its name for people. `now` returns a time that never goes back, on any thread.
  SyncMeter(std::string disk, std::function<Micros()> now) : disk_(std::move(disk)), now_(std::move(now)) {}

  // Runs `sync`, which writes up to `bytes` bytes to the disk, and returns its result.
  template <class Sync>
  auto Time(std::uint64_t bytes, const Sync& sync) {
    struct End {
      SyncMeter& meter;
      const Micros began, allowed;
      ~End() { meter.Ended(began, allowed); }
    };
    const auto allowed = static_cast<Micros>(static_cast<double>(bytes) / kBytesPerSecond * kSecond);
    const End end{*this, Begin(allowed), allowed};
    return sync();
  }

  [[nodiscard]] SyncTimes Times() const;

 private:
  struct Sync {
    Micros ended = 0, took = 0;
  };
  Micros Begin(Micros allowed);
  void Ended(Micros began, Micros allowed);

  const std::string disk_;
  const std::function<Micros()> now_;
  mutable std::mutex mutex_;
  std::deque<Sync> ended_;       // the latest last
  std::multiset<Micros> begun_;  // the times since which the syncs under way count
};

}  // namespace millrace::dfs
