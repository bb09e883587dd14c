// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/fetch_schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millrace::shuffle {
namespace {

constexpr unsigned kMostDoublings = 20;

bool SameSource(const Source& a, const Source& b) {
  return a.map == b.map && a.host == b.host && a.port == b.port && a.local == b.local;
}

}  // namespace

FetchSchedule::FetchSchedule(std::uint32_t partition, std::uint32_t maps, unsigned retries, Micros first_back_off)
    : partition_(partition), retries_(std::max(retries, 1u)), first_back_off_(first_back_off), outputs_(maps) {}

bool FetchSchedule::Announce(const Source& source) {
  if (source.map.task.index >= outputs_.size()) return false;
  Output& output = outputs_[source.map.task.index];
  if (IsOver(output)) return false;
  const bool idle = output.state == OutputState::kUnknown || output.state == OutputState::kDoubted;
  if (!idle && SameSource(output.source, source)) return false;
  output.source = source;
  output.failures = 0;
  output.state = OutputState::kUnknown;
  if (!source.local) Wait(output);
  return true;
}

void FetchSchedule::Withdraw(const AttemptId& attempt) {
  if (attempt.task.index >= outputs_.size()) return;
  Output& output = outputs_[attempt.task.index];
  if (!IsOver(output) && output.source.map == attempt) output.state = OutputState::kUnknown;
}

void FetchSchedule::LeaveOut(std::uint32_t map) {
  if (map >= outputs_.size() || IsOver(outputs_[map])) return;
  outputs_[map].state = OutputState::kLeftOut;
  outputs_[map].source = {};
  ++left_out_;
}

void FetchSchedule::Wait(Output& output) {
  output.state = OutputState::kWaiting;
  queues_[{output.source.host, output.source.port}].maps.push_back(output.source.map.task.index);
}

std::vector<Source> FetchSchedule::Wake(Time now) {
  std::vector<Source> local;
  while (!resting_.empty() && resting_.begin()->first <= now) {
    const auto first = resting_.begin();
    Output& output = outputs_[first->second];
    const bool rests = output.state == OutputState::kResting || output.state == OutputState::kDoubted;
    if (rests && output.rest_until == first->first) {
      if (output.source.local) {
        output.state = OutputState::kUnknown;
        local.push_back(output.source);
      } else {
        Wait(output);
      }
    }
    resting_.erase(first);
  }
  return local;
}

std::optional<FetchSchedule::Time> FetchSchedule::next_wake() const {
  if (resting_.empty()) return std::nullopt;
  return resting_.begin()->first;
}

bool FetchSchedule::Waits(std::uint32_t map, const FetchPlace& place) const {
  const Output& output = outputs_[map];
  return output.state == OutputState::kWaiting && output.source.host == place.host && output.source.port == place.port;
}

void FetchSchedule::Drop(const FetchPlace& place, Queue& queue) {
  while (!queue.maps.empty() && !Waits(queue.maps.front(), place)) queue.maps.pop_front();
}

std::optional<FetchPlace> FetchSchedule::VisitNext() {
  if (queues_.empty()) return std::nullopt;
  auto at = last_.has_value() ? queues_.upper_bound(*last_)
                              : std::next(queues_.begin(), static_cast<std::ptrdiff_t>(partition_ % queues_.size()));
  for (std::size_t left = queues_.size(); left > 0; --left, ++at) {
    if (at == queues_.end()) at = queues_.begin();
    auto& [place, queue] = *at;
    Drop(place, queue);
    if (queue.visited || queue.maps.empty()) continue;
    queue.visited = true;
    last_ = place;
    return place;
  }
  return std::nullopt;
}

bool FetchSchedule::Wants(const FetchPlace& place) const {
  return std::any_of(outputs_.begin(), outputs_.end(), [&](const Output& output) {
    return (output.state == OutputState::kWaiting || output.state == OutputState::kFetching) &&
           output.source.host == place.host && output.source.port == place.port;
  });
}

void FetchSchedule::Leave(const FetchPlace& place) { queues_[place].visited = false; }

std::vector<Ticket> FetchSchedule::NextBatch(const FetchPlace& place, std::size_t most) {
  Queue& queue = queues_[place];
  std::vector<Ticket> batch;
  while (batch.size() < most) {
    Drop(place, queue);
    if (queue.maps.empty()) break;
    Output& output = outputs_[queue.maps.front()];
    if (!batch.empty() && output.source.map.task.job.value != batch.front().map.task.job.value) break;
    queue.maps.pop_front();
    output.state = OutputState::kFetching;
    output.ticket = ++tickets_;
    batch.push_back({output.source.map, output.ticket});
  }
  return batch;
}

FetchSchedule::Output* FetchSchedule::Find(const Ticket& ticket) {
  Output& output = outputs_[ticket.map.task.index];
  return output.state == OutputState::kFetching && output.ticket == ticket.number ? &output : nullptr;
}

void FetchSchedule::PutBack(const Ticket& ticket) {
  if (Output* output = Find(ticket)) Wait(*output);
}

bool FetchSchedule::Fail(const Ticket& ticket, bool for_good, Time now) {
  Output* output = Find(ticket);
  if (output == nullptr) return false;
  ++output->failures;
  const bool doubted = for_good || output->failures >= retries_;
  Rest(*output, doubted ? OutputState::kDoubted : OutputState::kResting, now);
  return doubted;
}

bool FetchSchedule::Miss(const AttemptId& attempt, Time now) {
  Output& output = outputs_[attempt.task.index];
  if (output.state != OutputState::kUnknown || output.source.map != attempt) return false;
  ++output.failures;
  Rest(output, OutputState::kDoubted, now);
  return true;
}

void FetchSchedule::Rest(Output& output, OutputState state, Time now) {
  const Micros doubled = first_back_off_ << std::min(output.failures - 1, kMostDoublings);
  const Micros rest = state == OutputState::kDoubted ? doubled * kDoubtedRests : doubled;
  output.state = state;
  output.rest_until = now + std::chrono::microseconds(std::min(rest, kLongestBackOff));
  resting_.emplace(output.rest_until, output.source.map.task.index);
}

bool FetchSchedule::Keep(CopiedSegment segment) {
  Output& output = outputs_[segment.map];
  if (IsOver(output)) return false;
  output.state = OutputState::kCopied;
  output.segment = std::move(segment);
  output.source = {};
  ++copied_;
  return true;
}

std::vector<CopiedSegment> FetchSchedule::TakeSegments() {
  std::vector<CopiedSegment> segments;
  segments.reserve(copied_);
  for (Output& output : outputs_) {
    if (output.state == OutputState::kCopied) segments.push_back(std::move(output.segment));
  }
  return segments;
}

}  // namespace millrace::shuffle
