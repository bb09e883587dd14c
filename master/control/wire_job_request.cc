// Reads and checks what clients ask for when they submit a job.
#include "base/text.h"
#include "master/control/wire_codec.h"
#include "schedulers/history/input_type.h"

namespace millrace::master {

namespace {

constexpr std::size_t kMostSample = sched::kInputTypeBytes;
constexpr std::uint64_t kLatestDeadline = std::uint64_t{10} * 365 * 24 * 3600 * 1000;  // ten years, in milliseconds

Result<SplitBy> Read(wire::SplitBy split_by) {
  switch (split_by) {
    case wire::SplitBy::BLOCK:
      return SplitBy::kBlock;
    case wire::SplitBy::FILE:
      return SplitBy::kFile;
    case wire::SplitBy::FIXED_RECORDS:
      return SplitBy::kFixed;
    case wire::SplitBy::NUMBERS:
      return SplitBy::kNumbers;
  }
  return Invalid("submit a job: its way of splitting input is not known to this master");
}

Status CheckForSchedulers(wire::JobRequest::Reader in) {
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

Status CheckInput(wire::JobRequest::Reader in) {
  constexpr std::uint32_t kMostMaps = 100'000;
  if (in.getCuts().size() > 0 && in.getCuts().size() != in.getInputs().size())
    return Invalid("submit a job: " + std::to_string(in.getInputs().size()) + " inputs for " +
                   std::to_string(in.getCuts().size()) + " mappers; one for each");
  for (const auto cut : in.getCuts()) {
    if (cut.getSplitBy() == wire::SplitBy::NUMBERS)
      return Invalid("submit a job: a mapper reads files, and no numbers");
  }
  if (in.getSplitBy() != wire::SplitBy::NUMBERS)
    return in.getInputs().size() > 0 ? Status::Ok() : Invalid("submit a job: it names no input");
  if (in.getInputs().size() > 0) return Invalid("submit a job: it reads no input, and names some");
  if (in.getMaps() >= 1 && in.getMaps() <= kMostMaps) return Status::Ok();
  return Invalid("submit a job: " + std::to_string(in.getMaps()) + " maps without input; 1 to 100000");
}

Status CheckTexts(wire::JobRequest::Reader in) {
  const std::pair<const char*, capnp::Text::Reader> names[] = {{"submit a job: its name", in.getName()},
                                                               {"submit a job: its owner", in.getOwner()},
                                                               {"submit a job: the name of its pool", in.getPool()},
                                                               {"submit a job: its token", in.getToken()}};
  for (const auto& [what, text] : names) MILLRACE_TRY(CheckLength(what, ToString(text), kLongestName));
  for (const auto parameter : in.getParameters()) {
    const std::string name = ToString(parameter.getName());
    MILLRACE_TRY(CheckLength("submit a job: the name of its parameter " + Quote(name), name, kLongestName));
  }
  return Status::Ok();
}

Status Check(wire::JobRequest::Reader in) {
  constexpr std::uint32_t kMostReduces = 1000;
  MILLRACE_TRY(CheckTexts(in));
  MILLRACE_TRY(CheckInput(in));
  if (in.getReduces() > kMostReduces)
    return Invalid("submit a job: " + std::to_string(in.getReduces()) + " reducers; at most 1000");
  if (in.getPriority() > 4)
    return Invalid("submit a job: priority " + std::to_string(in.getPriority()) + " is not one of 0 to 4");
  if (!(in.getSlowStart() >= 0 && in.getSlowStart() <= 1))
    return Invalid("submit a job: job.slow_start is a fraction, 0 to 1");
  if (in.getMaxAttempts() < 1 || in.getMaxAttempts() > 100)
    return Invalid("submit a job: job.max_attempts is 1 to 100");
  if (in.getSkipBadRecords() > 1000) return Invalid("submit a job: job.skip_bad_records is more than 1000");
  if (in.getMaxFailedMaps() > 100) return Invalid("submit a job: job.max_failed_maps is a percentage, 0 to 100");
  return CheckForSchedulers(in);
}

}  // namespace

Result<JobRequest> Read(wire::JobRequest::Reader in) {
  MILLRACE_TRY(Check(in));
  JobRequest request;
  request.name = ToString(in.getName());
  request.owner = ToString(in.getOwner());
  for (const auto input : in.getInputs()) request.inputs.push_back(ToString(input));
  request.output = ToString(in.getOutput());
  request.reduces = in.getReduces();
  for (const auto p : in.getParameters())
    request.parameters.emplace_back(ToString(p.getName()), ToString(p.getValue()));
  request.priority = in.getPriority();
  request.executable = ToString(in.getExecutable());
  request.executable_bytes = in.getExecutableBytes();
  request.executable_crc = in.getExecutableCrc();
  request.record_bytes = in.getRecordBytes();
  request.decompresses = in.getDecompresses();
  for (const auto path : in.getUncut()) request.uncut.push_back(ToString(path));
  request.maps = in.getMaps();
  request.records = in.getRecords();
  request.pack = in.getPack();
  request.no_speculation = in.getNoSpeculation();
  request.pool = ToString(in.getPool());
  request.deadline = static_cast<Micros>(in.getDeadlineMillis()) * kMillisecond;
  request.token = ToString(in.getToken());
  request.slow_start = in.getSlowStart();
  request.max_attempts = in.getMaxAttempts();
  request.max_failed_maps = in.getMaxFailedMaps();
  request.skip_bad_records = in.getSkipBadRecords();
  request.map_time = static_cast<Micros>(in.getMapTime());
  request.reduce_time = static_cast<Micros>(in.getReduceTime());
  for (const std::uint64_t wait : in.getLocalityWaits()) request.locality_waits.push_back(static_cast<Micros>(wait));
  request.input_sample = ToString(in.getInputSample()).substr(0, kMostSample);
  MILLRACE_ASSIGN(request.split_by, Read(in.getSplitBy()));
  for (const auto cut : in.getCuts()) {
    MILLRACE_ASSIGN(const SplitBy split_by, Read(cut.getSplitBy()));
    request.cuts.push_back({split_by, cut.getDecompresses()});
  }
  return request;
}

}  // namespace millrace::master
