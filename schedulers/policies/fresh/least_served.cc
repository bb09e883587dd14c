#include "schedulers/policies/fresh/least_served.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millrace::sched {
namespace {

constexpr double kNever = 1e300;  // past any time, and times 0 it is 0

}  // namespace

void LeastServed::Put(const JobState& job) {
  const JobId id = job.progress.job;
  if (!base_) base_ = job.progress.submitted;
  if (place_.size() <= id.value) place_.resize(id.value + 1, kNowhere);
  std::uint32_t& seat = place_[id.value];
  if (seat == kNowhere) {
    seat = size_++;
    if (line_.size() * kBlock < size_) line_.emplace_back();
    BlockOf(seat).open[seat % kBlock] = -1;
  }
  Micros used = 0;
  std::uint32_t running = 0;
  for (const TaskKind kind : kTaskKinds) {
    used += job.SlotTime(kind, *base_);
    running += job.running_attempts[kind];
  }
  Block& block = BlockOf(seat);
  const std::size_t at = seat % kBlock;
  block.used[at] = static_cast<double>(used);
  block.running[at] = running;
  block.started[at] = job.started ? static_cast<double>(job.progress.started - *base_) : kNever;
  block.rank[at] = static_cast<std::int64_t>(std::uint64_t{running} << 32 | id.value);
}

// The last in line takes the seat.
void LeastServed::Remove(JobId job) {
  if (place_.size() <= job.value || place_[job.value] == kNowhere) return;
  const std::uint32_t seat = place_[job.value], last = --size_;
  place_[JobAt(last).value] = seat;
  place_[job.value] = kNowhere;
  Block &to = BlockOf(seat), &from = BlockOf(last);
  const std::size_t at = seat % kBlock, end = last % kBlock;
  to.used[at] = from.used[end];
  to.running[at] = from.running[end];
  to.started[at] = from.started[end];
  to.rank[at] = from.rank[end];
  to.open[at] = from.open[end];
  from.open[end] = 0;
  if (end == 0) line_.pop_back();
}

// Without a branch, and fma by name: a vector rounds as a scalar does.
inline LeastServed::Claim LeastServed::ClaimOf(const Block& block, std::size_t at, double now) {
  const double runs = now > block.started[at] ? 1 : 0;
  return {runs * std::fma(block.running[at], now, block.used[at]), runs * (now - block.started[at]) + (1 - runs),
          block.rank[at]};
}

// r of the one against r of the other without a division.
inline bool LeastServed::Less(const Claim& a, const Claim& b) {
  const double left = a.used * b.age, right = b.used * a.age;
  return left != right ? left < right : a.rank < b.rank;
}

// Less of all seats at once, in masks: g++ 12 makes vectors of it at -O3 as long as there is no branch in it
// (-fopt-info-vec tells).
inline bool LeastServed::AnyLess(const Block& block, double now, Claim than) {
  std::int64_t found = 0;
  for (std::size_t at = 0; at < kBlock; ++at) {
    const Claim claim = ClaimOf(block, at, now);
    const double left = claim.used * than.age, right = than.used * claim.age;
    const std::int64_t less = left < right ? -1 : 0, equal = left == right ? -1 : 0;
    const std::int64_t before = claim.rank < than.rank ? -1 : 0;
    found |= (less | (equal & before)) & block.open[at];
  }
  return found != 0;
}

std::optional<JobId> LeastServed::First(Micros now) const {
  const double at = base_ ? static_cast<double>(now - *base_) : 0;
  std::optional<JobId> first;
  Claim least{std::numeric_limits<double>::infinity()};
  for (const Block& block : line_) {
    if (first && !AnyLess(block, at, least)) continue;
    for (std::size_t i = 0; i < kBlock; ++i) {
      if (block.open[i] == 0) continue;
      const Claim claim = ClaimOf(block, i, at);
      if (!Less(claim, least)) continue;
      least = claim;
      first = JobId{static_cast<std::uint32_t>(claim.rank)};
    }
  }
  return first;
}

void LeastServed::Exclude(JobId job) {
  const std::uint32_t seat = place_[job.value];
  BlockOf(seat).open[seat % kBlock] = 0;
}

void LeastServed::Readmit() {
  for (std::uint32_t seat = 0; seat < size_; ++seat) BlockOf(seat).open[seat % kBlock] = -1;
}

std::vector<JobId> LeastServed::Jobs() const {
  std::vector<JobId> jobs;
  for (std::uint32_t seat = 0; seat < size_; ++seat) jobs.push_back(JobAt(seat));
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

}  // namespace millrace::sched
