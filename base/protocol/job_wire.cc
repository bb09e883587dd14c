// SPDX-License-Identifier: Apache-2.0
#include "base/protocol/job_wire.h"

#include <algorithm>

#include "base/protocol/wire_fields.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr auto kPhaseFields = [](auto& message, auto& phase) {
  MILLRACE_WIRE(message, Total, phase.total);
  MILLRACE_WIRE(message, Running, phase.running);
  MILLRACE_WIRE(message, Done, phase.done);
  MILLRACE_WIRE(message, Fraction, phase.fraction);
};

constexpr auto kLeftOutMapFields = [](auto& message, auto& left_out) {
  MILLRACE_WIRE(message, Map, left_out.map);
  MILLRACE_WIRE(message, Input, left_out.input);
};

constexpr auto kLeftOutRecordFields = [](auto& message, auto& left_out) {
  MILLRACE_WIRE(message, Map, left_out.map);
  MILLRACE_WIRE(message, Path, left_out.path);
  MILLRACE_WIRE(message, Offset, left_out.offset);
};

constexpr auto kJobStatusFields = [](auto& message, auto& status) {
  MILLRACE_WIRE(message, Job, status.job);
  MILLRACE_WIRE(message, Name, status.name);
  MILLRACE_WIRE(message, Owner, status.owner);
  MILLRACE_WIRE(message, State, status.state, UpTo{JobState::kKilled, JobState::kRunning});
  MILLRACE_WIRE(message, Reason, status.reason);
  MILLRACE_WIRE(message, Priority, status.priority);
  MILLRACE_WIRE(message, Pool, status.pool);
  MILLRACE_WIRE(message, Output, status.output);
  MILLRACE_WIRE(message, Submitted, status.submitted);
  MILLRACE_WIRE(message, FirstLaunch, status.first_launch);
  MILLRACE_WIRE(message, Ended, status.ended);
  MILLRACE_WIRE(message, Maps, status.maps, kPhaseFields);
  MILLRACE_WIRE(message, Reduces, status.reduces, kPhaseFields);
  MILLRACE_WIRE(message, CopyFraction, status.copy_fraction);
  MILLRACE_WIRE(message, MapsLocal, status.maps_at);
  MILLRACE_WIRE(message, FailedAttempts, status.failed_attempts);
  MILLRACE_WIRE(message, KilledAttempts, status.killed_attempts);
  MILLRACE_WIRE(message, InputBytes, status.input_bytes);
  MILLRACE_WIRE(message, BytesRead, status.bytes_read);
  MILLRACE_WIRE(message, BytesShuffled, status.bytes_shuffled);
  MILLRACE_WIRE(message, BytesWritten, status.bytes_written);
  MILLRACE_WIRE(message, PreemptedAttempts, status.preempted_attempts);
  MILLRACE_WIRE(message, SpeculativeAttempts, status.speculative_attempts);
  MILLRACE_WIRE(message, Deadline, status.deadline);
  MILLRACE_WIRE(message, MapsLeftOut, status.maps_left_out);
  MILLRACE_WIRE(message, LeftOut, status.left_out, kLeftOutMapFields);
  MILLRACE_WIRE(message, RecordsLeftOut, status.records_left_out);
  MILLRACE_WIRE(message, LeftOutRecords, status.left_out_records, kLeftOutRecordFields);
  MILLRACE_WIRE(message, After, status.after);
  MILLRACE_WIRE(message, WaitsFor, status.waits_for);
  MILLRACE_WIRE(message, EvenIfFailed, status.even_if_failed);
  MILLRACE_WIRE(message, Held, status.held);
  MILLRACE_WIRE(message, Queued, status.queued);
};

constexpr auto kAttemptStatusFields = [](auto& message, auto& status) {
  MILLRACE_WIRE(message, Attempt, status.attempt, kAttemptFields);
  MILLRACE_WIRE(message, Node, status.node);
  MILLRACE_WIRE(message, Host, status.host);
  MILLRACE_WIRE(message, State, status.state, UpTo{AttemptState::kPreempted, AttemptState::kRunning});
  MILLRACE_WIRE(message, Launched, status.launched);
  MILLRACE_WIRE(message, Ended, status.ended);
  MILLRACE_WIRE(message, Reason, status.reason);
};

}  // namespace

// A client of an earlier version takes a lost job for a killed one: it does not know the state, and would wait.
JobStatus FromWire(master::wire::JobStatus::Reader in) {
  JobStatus status = ReadMessage<JobStatus>(in, kJobStatusFields);
  if (in.getLost()) status.state = JobState::kLost;
  return status;
}
void ToWire(const JobStatus& status, master::wire::JobStatus::Builder out) {
  JobStatus told = status;
  const bool lost = status.state == JobState::kLost;
  if (lost) told.state = JobState::kKilled;
  WriteMessage(told, out, kJobStatusFields);
  out.setLost(lost);
}

AttemptStatus FromWire(master::wire::AttemptStatus::Reader in) {
  return ReadMessage<AttemptStatus>(in, kAttemptStatusFields);
}
void ToWire(const AttemptStatus& status, master::wire::AttemptStatus::Builder out) {
  WriteMessage(status, out, kAttemptStatusFields);
}

Counters FromWire(capnp::List<task::wire::Counter>::Reader in, unsigned most) {
  const auto name = [](capnp::Text::Reader text) { return wire_fields::ToString(text).substr(0, kLongestName); };
  Counters counters;
  for (unsigned i = 0; i < std::min(in.size(), most); ++i)
    AddCounter({name(in[i].getGroup()), name(in[i].getName())}, in[i].getValue(), &counters);
  return counters;
}

void ToWire(const Counters& counters, capnp::List<task::wire::Counter>::Builder out) {
  unsigned i = 0;
  for (const auto& [name, value] : counters) {
    out[i].setGroup(name.first);
    out[i].setName(name.second);
    out[i++].setValue(value);
  }
}

}  // namespace millrace
