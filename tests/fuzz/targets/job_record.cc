// SPDX-License-Identifier: Apache-2.0
// Jobs, splits and reports in the master's database, and their keys; the first byte says which.
#include "master/jobs/job_record.h"

#include "master/jobs/journal.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

namespace {

master::JobRecord SomeJob(bool ended) {
  master::JobRecord job;
  job.id = JobId{3};
  job.request.name = "wordcount";
  job.request.owner = "me";
  job.request.inputs = {"/in", "/more"};
  job.request.output = "/out";
  job.request.parameters = {{"a.b", "c"}};
  job.request.locality_waits = {1, 2, 3};
  job.submitted = 17;
  if (ended) {
    job.outcome = master::JobOutcomeRecord{sched::JobOutcome::kFailed, "why"};
    job.counters[{"group", "name"}] = -5;
  }
  return job;
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  master::TaskReport report;
  report.counters[{"millrace", "map_input_records"}] = 1'000'000;
  report.bytes_read = 5;
  const master::Split split{"/in/f", "f", 1000, 0, 500, {{1, 500}}, 0};
  return {std::string(1, 0) + master::EncodeJob(SomeJob(false)),
          std::string(1, 0) + master::EncodeJob(SomeJob(true)),
          std::string(1, 1) + master::EncodeSplits({{split}, {split, split}}),
          std::string(1, 2) + master::EncodeReport(report),
          std::string(1, 3) + master::TaskKey({JobId{3}, TaskKind::kReduce, 9}),
          std::string(1, 3) + master::JournalKey(JobId{3}, 77),
          std::string(1, 3) + master::JobKey(JobId{3})};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Draw draw(fuzz::View(data, size));
  const std::uint8_t which = draw.Byte() % 4;
  const std::string_view bytes = draw.rest();
  switch (which) {
    case 0:
      fuzz::RoundTrip(
          bytes, [](std::string_view b) { return master::DecodeJob(master::JobKey(JobId{3}), b); }, master::EncodeJob,
          "a job");
      break;
    case 1:
      fuzz::RoundTrip(bytes, master::DecodeSplits, master::EncodeSplits, "splits");
      break;
    case 2: {
      fuzz::RoundTrip(bytes, master::DecodeReport, master::EncodeReport, "a report");
      if (const auto report = master::DecodeReport(bytes); report.ok()) {
        (void)master::RemoteReadRate(*report);
        (void)master::MapOutputBytes(*report);
        Counters twice = report->counters;
        AddCounters(report->counters, &twice);
      }
      break;
    }
    default:
      if (const auto task = master::ParseTaskKey(bytes))
        fuzz::Require(master::TaskKey(*task) == bytes, "a task's key is not what it encodes to");
      (void)master::JournalSequence(bytes);
      (void)master::DecodeJob(bytes, {});
      if (const auto number = ParseKeyNumber(bytes)) fuzz::Require(KeyNumber(*number) == bytes, "a number of keys");
  }
  return 0;
}
