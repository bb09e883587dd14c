#include "worker/daemon/shuffle/copy_book.h"

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

CopyBook::CopyBook(std::uint32_t partition, std::uint32_t maps, unsigned retries, Micros first_back_off)
    : partition_(partition), retries_(std::max(retries, 1u)), first_back_off_(first_back_off), outputs_(maps) {}

bool CopyBook::Announce(const Source& source) {
  if (source.map.task.index >= outputs_.size()) return false;
  Output& output = outputs_[source.map.task.index];
  if (Settled(output)) return false;
  const bool idle = output.state == State::kUnknown || output.state == State::kDoubted;
  if (!idle && SameSource(output.source, source)) return false;
  output.source = source;
  output.failures = 0;
  output.state = State::kUnknown;
  if (!source.local) Wait(output);
  return true;
}

void CopyBook::Withdraw(const AttemptId& attempt) {
  if (attempt.task.index >= outputs_.size()) return;
  Output& output = outputs_[attempt.task.index];
  if (!Settled(output) && output.source.map == attempt) output.state = State::kUnknown;
}

void CopyBook::LeaveOut(std::uint32_t map) {
  if (map >= outputs_.size() || Settled(outputs_[map])) return;
  outputs_[map].state = State::kLeftOut;
  outputs_[map].source = {};
  ++left_out_;
}

void CopyBook::Wait(Output& output) {
  output.state = State::kWaiting;
  queues_[{output.source.host, output.source.port}].maps.push_back(output.source.map.task.index);
}

std::vector<Source> CopyBook::Wake(Time now) {
  std::vector<Source> local;
  while (!resting_.empty() && resting_.begin()->first <= now) {
    const auto first = resting_.begin();
    Output& output = outputs_[first->second];
    const bool rests = output.state == State::kResting || output.state == State::kDoubted;
    if (rests && output.rest_until == first->first) {
      if (output.source.local) {
        output.state = State::kUnknown;
        local.push_back(output.source);
      } else {
        Wait(output);
      }
    }
    resting_.erase(first);
  }
  return local;
}

std::optional<CopyBook::Time> CopyBook::next_wake() const {
  if (resting_.empty()) return std::nullopt;
  return resting_.begin()->first;
}

bool CopyBook::Waits(std::uint32_t map, const Place& place) const {
  const Output& output = outputs_[map];
  return output.state == State::kWaiting && output.source.host == place.host && output.source.port == place.port;
}

void CopyBook::Drop(const Place& place, Queue& queue) {
  while (!queue.maps.empty() && !Waits(queue.maps.front(), place)) queue.maps.pop_front();
}

std::optional<Place> CopyBook::Visit() {
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

bool CopyBook::Wants(const Place& place) const {
  return std::any_of(outputs_.begin(), outputs_.end(), [&](const Output& output) {
    return (output.state == State::kWaiting || output.state == State::kFetching) && output.source.host == place.host &&
           output.source.port == place.port;
  });
}

void CopyBook::Leave(const Place& place) { queues_[place].visited = false; }

std::vector<Ticket> CopyBook::NextBatch(const Place& place, std::size_t most) {
  Queue& queue = queues_[place];
  std::vector<Ticket> batch;
  while (batch.size() < most) {
    Drop(place, queue);
    if (queue.maps.empty()) break;
    Output& output = outputs_[queue.maps.front()];
    if (!batch.empty() && output.source.map.task.job.value != batch.front().map.task.job.value) break;
    queue.maps.pop_front();
    output.state = State::kFetching;
    output.ticket = ++tickets_;
    batch.push_back({output.source.map, output.ticket});
  }
  return batch;
}

CopyBook::Output* CopyBook::Find(const Ticket& ticket) {
  Output& output = outputs_[ticket.map.task.index];
  return output.state == State::kFetching && output.ticket == ticket.number ? &output : nullptr;
}

void CopyBook::PutBack(const Ticket& ticket) {
  if (Output* output = Find(ticket)) Wait(*output);
}

bool CopyBook::Fail(const Ticket& ticket, bool for_good, Time now) {
  Output* output = Find(ticket);
  if (output == nullptr) return false;
  ++output->failures;
  const bool doubted = for_good || output->failures >= retries_;
  Rest(*output, doubted ? State::kDoubted : State::kResting, now);
  return doubted;
}

bool CopyBook::Miss(const AttemptId& attempt, Time now) {
  Output& output = outputs_[attempt.task.index];
  if (output.state != State::kUnknown || output.source.map != attempt) return false;
  ++output.failures;
  Rest(output, State::kDoubted, now);
  return true;
}

void CopyBook::Rest(Output& output, State state, Time now) {
  const Micros doubled = first_back_off_ << std::min(output.failures - 1, kMostDoublings);
  const Micros rest = state == State::kDoubted ? doubled * kDoubtedRests : doubled;
  output.state = state;
  output.rest_until = now + std::chrono::microseconds(std::min(rest, kLongestBackOff));
  resting_.emplace(output.rest_until, output.source.map.task.index);
}

bool CopyBook::Keep(CopiedSegment segment) {
  Output& output = outputs_[segment.map];
  if (Settled(output)) return false;
  output.state = State::kCopied;
  output.segment = std::move(segment);
  output.source = {};
  ++copied_;
  return true;
}

std::vector<CopiedSegment> CopyBook::TakeSegments() {
  std::vector<CopiedSegment> segments;
  segments.reserve(copied_);
  for (Output& output : outputs_) {
    if (output.state == State::kCopied) segments.push_back(std::move(output.segment));
  }
  return segments;
}

}  // namespace millrace::shuffle
