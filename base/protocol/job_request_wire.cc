// SPDX-License-Identifier: Apache-2.0
// The fields of a job's request in messages, and the check of clients' requests.
#include <string>
#include <utility>

#include "base/protocol/job_wire.h"
#include "base/protocol/wire_fields.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr std::uint64_t kLatestDeadline = std::uint64_t{10} * 365 * 24 * 3600 * 1000;  // ten years, in milliseconds

constexpr auto kParameterFields = [](auto& message, auto& parameter) {
  MILLRACE_WIRE(message, Name, parameter.first);
  MILLRACE_WIRE(message, Value, parameter.second);
};

constexpr auto kInputCutFields = [](auto& message, auto& cut) {
  MILLRACE_WIRE(message, SplitBy, cut.split_by);
  MILLRACE_WIRE(message, Decompresses, cut.decompresses);
};

constexpr auto kJobRequestFields = [](auto& message, auto& request) {
  MILLRACE_WIRE(message, Name, request.name);
  MILLRACE_WIRE(message, Owner, request.owner);
  MILLRACE_WIRE(message, Inputs, request.inputs);
  MILLRACE_WIRE(message, Output, request.output);
  MILLRACE_WIRE(message, Reduces, request.reduces);
  MILLRACE_WIRE(message, Parameters, request.parameters, kParameterFields);
  MILLRACE_WIRE(message, Priority, request.priority);
  MILLRACE_WIRE(message, Executable, request.executable.path);
  MILLRACE_WIRE(message, ExecutableBytes, request.executable.bytes);
  MILLRACE_WIRE(message, ExecutableCrc, request.executable.crc);
  MILLRACE_WIRE(message, SplitBy, request.split_by);
  MILLRACE_WIRE(message, RecordBytes, request.record_bytes);
  MILLRACE_WIRE(message, Pool, request.pool);
  MILLRACE_WIRE(message, DeadlineMillis, request.deadline, InUnitsOf{kMillisecond});
  MILLRACE_WIRE(message, Token, request.token);
  MILLRACE_WIRE(message, SlowStart, request.slow_start);
  MILLRACE_WIRE(message, MaxAttempts, request.max_attempts);
  MILLRACE_WIRE(message, MapTime, request.map_time);
  MILLRACE_WIRE(message, ReduceTime, request.reduce_time);
  MILLRACE_WIRE(message, LocalityWaits, request.locality_waits);
  MILLRACE_WIRE(message, InputSample, request.input_sample);
  MILLRACE_WIRE(message, Maps, request.maps);
  MILLRACE_WIRE(message, Records, request.records);
  MILLRACE_WIRE(message, Pack, request.pack);
  MILLRACE_WIRE(message, NoSpeculation, request.no_speculation);
  MILLRACE_WIRE(message, MaxFailedMaps, request.max_failed_maps);
  MILLRACE_WIRE(message, SkipBadRecords, request.skip_bad_records);
  MILLRACE_WIRE(message, Decompresses, request.decompresses);
  MILLRACE_WIRE(message, Uncut, request.uncut);
  MILLRACE_WIRE(message, Cuts, request.cuts, kInputCutFields);
  MILLRACE_WIRE(message, After, request.after);
  MILLRACE_WIRE(message, EvenIfFailed, request.even_if_failed);
  MILLRACE_WIRE(message, Held, request.held);
};

Status CheckForSchedulers(master::wire::JobRequest::Reader in) {
  constexpr std::uint64_t kLongest = std::uint64_t{24} * 3600 * 1'000'000;
  if (in.getDeadlineMillis() > kLatestDeadline)
    return Invalid("submit a job: its deadline is more than ten years away");
  if (in.getMapTime() > kLongest || in.getReduceTime() > kLongest)
    return Invalid("submit a job: a task is said to take more than a day");
  if (in.getLocalityWaits().size() > 3) return Invalid("submit a job: more than three locality waits");
  for (const std::uint64_t wait : in.getLocalityWaits()) {
    if (wait > kLongest) return Invalid("submit a job: a locality wait of more than a day");
  }
  return Status::Ok();
}

bool Known(master::wire::SplitBy split_by) { return split_by <= master::wire::SplitBy::NUMBERS; }

Status CheckInput(master::wire::JobRequest::Reader in) {
  constexpr std::uint32_t kMostMaps = 100'000;
  if (in.getCuts().size() > 0 && in.getCuts().size() != in.getInputs().size())
    return Invalid("submit a job: " + std::to_string(in.getInputs().size()) + " inputs for " +
                   std::to_string(in.getCuts().size()) + " mappers; one for each");
  bool known = Known(in.getSplitBy());
  for (const auto cut : in.getCuts()) {
    known = known && Known(cut.getSplitBy());
    if (cut.getSplitBy() == master::wire::SplitBy::NUMBERS)
      return Invalid("submit a job: a mapper reads files, not numbers");
  }
  if (!known) return Invalid("submit a job: its way of splitting input is not known to this master");
  if (in.getSplitBy() != master::wire::SplitBy::NUMBERS)
    return in.getInputs().size() > 0 ? Status::Ok() : Invalid("submit a job: it names no input");
  if (in.getInputs().size() > 0) return Invalid("submit a job: it reads no input, but names some");
  if (in.getMaps() >= 1 && in.getMaps() <= kMostMaps) return Status::Ok();
  return Invalid("submit a job: " + std::to_string(in.getMaps()) + " maps without input; 1 to 100000");
}

Status CheckTexts(master::wire::JobRequest::Reader in) {
  const std::pair<const char*, capnp::Text::Reader> names[] = {{"submit a job: its name", in.getName()},
                                                               {"submit a job: its owner", in.getOwner()},
                                                               {"submit a job: the name of its pool", in.getPool()},
                                                               {"submit a job: its token", in.getToken()}};
  for (const auto& [what, text] : names) MILLRACE_TRY(CheckLength(what, wire_fields::ToString(text), kLongestName));
  for (const auto parameter : in.getParameters()) {
    const std::string name = wire_fields::ToString(parameter.getName());
    MILLRACE_TRY(CheckLength("submit a job: the name of its parameter " + Quote(name), name, kLongestName));
  }
  return Status::Ok();
}

Status Check(master::wire::JobRequest::Reader in) {
  constexpr std::uint32_t kMostReduces = 1000;
  MILLRACE_TRY(CheckTexts(in));
  MILLRACE_TRY(CheckInput(in));
  if (in.getReduces() > kMostReduces)
    return Invalid("submit a job: " + std::to_string(in.getReduces()) + " reducers; at most 1000");
  if (in.getPriority() > 4)
    return Invalid("submit a job: priority " + std::to_string(in.getPriority()) + " is not one of 0 to 4");
  if (!(in.getSlowStart() >= 0 && in.getSlowStart() <= 1))
    return Invalid("submit a job: job.slow_start is a fraction, 0 to 1");
  if (in.getMaxAttempts() < 1 || in.getMaxAttempts() > kMostAttemptsOfTask)
    return Invalid("submit a job: job.max_attempts is 1 to 100");
  if (in.getSkipBadRecords() > kMostSkippedRecords)
    return Invalid("submit a job: job.skip_bad_records is more than 1000");
  if (in.getMaxFailedMaps() > 100) return Invalid("submit a job: job.max_failed_maps is a percentage, 0 to 100");
  if (in.getAfter().size() > kMostAfter)
    return Invalid("submit a job: it is to run after " + std::to_string(in.getAfter().size()) + " jobs; at most " +
                   std::to_string(kMostAfter));
  return CheckForSchedulers(in);
}

}  // namespace

Result<JobRequest> FromWire(master::wire::JobRequest::Reader in) {
  MILLRACE_TRY(Check(in));
  return ReadMessage<JobRequest>(in, kJobRequestFields);
}

void ToWire(const JobRequest& request, master::wire::JobRequest::Builder out) {
  WriteMessage(request, out, kJobRequestFields);
}

}  // namespace millrace
