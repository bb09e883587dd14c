// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/fetch_meter.h"

#include <algorithm>
#include <vector>

namespace millrace::shuffle {
namespace {

constexpr double kLeastSeconds = 1e-6;  // bytes that were there already did not come infinitely fast

}  // namespace

void FetchMeter::Tally::Advance(Time now) {
  if (now > last) {
    const double seconds = std::chrono::duration<double>(now - last).count();
    if (waits > 0) {
      window_waiting += seconds;
      waiting += seconds;
    }
    if (copies > 0) copying += seconds;
    last = now;
  }
  if (copying <= 2 * std::chrono::duration<double>(kHalfLife).count()) return;
  for (double* sum : {&waiting, &copying, &stored, &raw}) *sum /= 2;
}

void FetchMeter::Tally::CloseWindow(Time now) {
  rates.push_back(static_cast<double>(window_bytes) / std::max(window_waiting, kLeastSeconds));
  if (rates.size() > kWindows) rates.pop_front();
  std::vector<double> sorted(rates.begin(), rates.end());
  std::sort(sorted.begin(), sorted.end());
  rate = sorted[(sorted.size() - 1) * 3 / 4];
  measured = now;
  window_bytes = 0;
  window_waiting = 0;
}

FetchMeter::Figures FetchMeter::Tally::At(Time now) const {
  Tally until = *this;
  until.Advance(now);
  return until.Get();
}

FetchMeter::Figures FetchMeter::Tally::Get() const {
  Figures figures;
  figures.bytes_per_second = rate;
  if (copying > 0) figures.waited = std::min(waiting / copying, 1.0);
  if (stored > 0) figures.ratio = raw / stored;
  return figures;
}

void FetchMeter::Begin(JobId job, Time now) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.try_emplace(job);
  }
  Note(job, now, [](Tally& tally) { ++tally.copies; });
}

void FetchMeter::Came(JobId job, std::uint64_t bytes, Time now) {
  Note(job, now, [bytes, now](Tally& tally) {
    --tally.waits;
    tally.window_bytes += bytes;
    if (tally.window_bytes >= kWindowBytes) tally.CloseWindow(now);
  });
}

void FetchMeter::Segment(JobId job, std::uint64_t stored, std::uint64_t raw, Time now) {
  Note(job, now, [stored, raw](Tally& tally) {
    tally.stored += static_cast<double>(stored);
    tally.raw += static_cast<double>(raw);
  });
}

FetchMeter::Figures FetchMeter::FiguresOf(JobId job, Time now) const {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(job);
  if (found != jobs_.end() && found->second.rates.size() >= kFewestWindows) return found->second.At(now);
  if (worker_.rates.empty() || now - worker_.measured > kRecent) return {};
  return worker_.At(now);
}

void FetchMeter::Forget(JobId job) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  found->second.forgotten = true;
  if (found->second.over()) jobs_.erase(found);
}

}  // namespace millrace::shuffle
