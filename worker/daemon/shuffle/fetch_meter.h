// SPDX-License-Identifier: Apache-2.0
// FetchMeter measures the network as the copies of one worker see it: the rate at which bytes arrive while the copies
// wait for the network, and the share of their time that they wait. It measures each job and the worker as a whole.
//
// Waiting is counted once however many copies wait, so the rate is that of all copies together. It is measured over
// windows of kWindowBytes, and the upper quartile of the last kWindows windows counts. So neither a sender that is
// short of processor time nor bytes that lay in a socket's buffer already distort the rate of the network. The share of
// time and the ratio are those of the last seconds (older values count half after each kHalfLife of copying).
//
// Time is passed in; a step back counts as no time. Thread rule: any thread; a call costs a lock and, every
// kWindowBytes, a sort of kWindows numbers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

#include "base/ids/ids.h"

namespace millrace::shuffle {

class FetchMeter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 20;
  static constexpr std::size_t kWindows = 16;
  static constexpr std::size_t kFewestWindows = 4;  // windows that a job needs before its own figures are used
  static constexpr std::chrono::seconds kHalfLife{10};
  static constexpr std::chrono::minutes kRecent{10};

  struct Figures {
    double bytes_per_second = 0;  // stored bytes; 0: not known
    double waited = 0;            // share of the time with copies under way in which a copy waited for the network
    double ratio = 1;             // raw bytes to stored bytes, of all arrivals
  };

  // Begin and End enclose the time in which a copy has remote outputs to fetch.
  void Begin(JobId job, Time now);
  void End(JobId job, Time now) {
    Note(job, now, [](Tally& tally) { --tally.copies; });
  }
  // Wait notes that a copy has nothing to do but wait for bytes from the network; Came notes that `bytes` arrived (0
  // after a failure).
  void Wait(JobId job, Time now) {
    Note(job, now, [](Tally& tally) { ++tally.waits; });
  }
  void Came(JobId job, std::uint64_t bytes, Time now);
  void Segment(JobId job, std::uint64_t stored, std::uint64_t raw, Time now);

  // Returns the job's figures if there are enough windows of it, otherwise the worker's. Nothing in them is older than
  // kRecent.
  [[nodiscard]] Figures FiguresOf(JobId job, Time now) const;
  void Forget(JobId job);  // requires: its copies have ended

 private:
  struct Tally {
    void Advance(Time now);
    [[nodiscard]] bool over() const { return forgotten && copies == 0 && waits == 0; }
    void CloseWindow(Time now);
    [[nodiscard]] Figures At(Time now) const;
    [[nodiscard]] Figures Get() const;

    unsigned copies = 0, waits = 0;
    bool forgotten = false;
    Time last;
    std::uint64_t window_bytes = 0;
    double window_waiting = 0;  // seconds
    std::deque<double> rates;   // the rates of the last windows
    double rate = 0;
    Time measured;                                         // the last window
    double waiting = 0, copying = 0, stored = 0, raw = 0;  // seconds and bytes, older ones halved
  };
  template <class F>
  void Note(JobId job, Time now, F change) {
    const std::lock_guard lock(mutex_);
    worker_.Advance(now);
    change(worker_);
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) return;
    found->second.Advance(now);
    change(found->second);
    if (found->second.over()) jobs_.erase(found);
  }

  mutable std::mutex mutex_;
  Tally worker_;
  std::map<JobId, Tally> jobs_;
};

}  // namespace millrace::shuffle
