// SPDX-License-Identifier: Apache-2.0
#include "schedulers/cluster/job_state.h"

#include <algorithm>

namespace millrace::sched {

bool BadRecords::Fail(const RecordPlace& record, std::uint32_t number, std::uint32_t launched, std::uint32_t most) {
  const auto known = records_.find(record);
  if (known != records_.end() && known->second != kKept) {
    if (number >= known->second) return false;
    ++forgiven_;  // the attempt was launched before the record was left out
    return true;
  }
  if (left_out_ >= most) return false;
  if (known == records_.end()) {
    records_.emplace(record, kKept);
    return false;
  }
  known->second = launched;
  forgiven_ += 2;
  in_doubt_ = ++left_out_ < most;
  return true;
}

std::vector<RecordPlace> BadRecords::LeftOutBy(std::uint32_t number) const {
  std::vector<RecordPlace> records;
  for (const auto& [record, from] : records_) {
    if (from != kKept && number >= from) records.push_back(record);
  }
  return records;
}

void RunningAttempts::Add(const RunningAttempt& attempt) {
  if (several_) {
    several_->push_back(attempt);
  } else if (one_.number == kNone) {
    one_ = attempt;
  } else {
    several_ = std::make_unique<std::vector<RunningAttempt>>(std::vector{one_, attempt});
  }
}

void RunningAttempts::Erase(const RunningAttempt* attempt) {
  if (!several_) {
    one_.number = kNone;
    return;
  }
  several_->erase(several_->begin() + (attempt - several_->data()));
  if (several_->size() > 1) return;
  one_ = several_->front();
  several_.reset();
}

const RunningAttempt* TaskState::Find(std::uint32_t number) const {
  const auto at = std::find_if(running.begin(), running.end(),
                               [number](const RunningAttempt& attempt) { return attempt.number == number; });
  return at == running.end() ? nullptr : &*at;
}

std::uint32_t JobState::Demand(SlotKind kind) const {
  const std::uint32_t running = running_attempts[kind];
  if (kind == kComputePermit) return running + static_cast<std::uint32_t>(copied_reduces.size());
  return running + (runnable[kind] ? Pending(kind.task()).size() : 0);
}

std::uint32_t JobState::YetToHave(SlotKind kind) const {
  const std::uint32_t pending = Pending(kind.task()).size();
  if (kind != kComputePermit) return pending;
  return pending + running_attempts[kReduceSlot] - running_attempts[kComputePermit];
}

std::optional<Micros> JobState::MeanTime(TaskKind kind) const {
  const RunTimes& of = times[kind];
  return of.finished == 0 ? std::nullopt : std::optional(of.finished_total / of.finished);
}

Micros JobState::SlotTime(TaskKind kind, Micros now) const {
  // The sum of times since the epoch may exceed 64 bits. Their difference does not, so it is right modulo 2^64.
  const std::uint64_t running = std::uint64_t{running_attempts[kind]} * static_cast<std::uint64_t>(now);
  return times[kind].ended_total + static_cast<Micros>(running - times[kind].since_total);
}

std::uint64_t JobState::ExpectedOutputOf(std::uint64_t bytes) const {
  if (progress.reduces == 0) return 0;  // the output goes to the file system, not to the node's scratch space
  double ratio = 0;
  if (map_input_bytes > 0) {
    ratio = static_cast<double>(map_output_bytes) / static_cast<double>(map_input_bytes);
  } else if (spec.profile.runs > 0) {
    ratio = spec.profile.output_ratio;
  }
  return static_cast<std::uint64_t>(ratio * static_cast<double>(bytes));
}

bool JobState::MayLeaveOutAnother() const {
  const std::uint64_t left_out = std::uint64_t{progress.maps_left_out} + 1;
  return left_out * 100 <= std::uint64_t{spec.max_failed_maps} * progress.maps;
}

bool JobState::ReducesMayStart() const {
  if (progress.maps == 0 || progress.maps_done == progress.maps) return true;
  // The quotient is compared, and not a product: 7 / 100 is exactly 0.07, while 0.07 * 100 is a little more than 7.
  return static_cast<double>(progress.maps_done) / progress.maps >= std::max(spec.slow_start, 0.0);
}

std::uint32_t JobState::MapsBeforeReduces() const {
  const double fraction = std::clamp(spec.slow_start, 0.0, 1.0);
  auto done = static_cast<std::uint32_t>(fraction * progress.maps);
  while (done > 0 && static_cast<double>(done - 1) / progress.maps >= fraction) --done;
  while (done < progress.maps && static_cast<double>(done) / progress.maps < fraction) ++done;
  return done;
}

bool JobState::Complete() const {
  return progress.reduces > 0 ? progress.reduces_done == progress.reduces : progress.maps_done == progress.maps;
}

}  // namespace millrace::sched
