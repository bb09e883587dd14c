// SPDX-License-Identifier: Apache-2.0
// The runs of a comparison that was stopped. A file with a good checksum is made from the input too, so that fields are
// reached.
#include "base/crc32c.h"
#include "lab/run/run_record.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

namespace {

constexpr std::size_t kBeforeChecksum = 8, kBeforePayload = 24;

// Returns the file with the checksum and the length that its payload has.
std::string Sealed(std::string_view payload) {
  std::string file = compare::EncodeRun({});
  file.resize(kBeforePayload);
  const std::uint64_t size = payload.size();
  file.replace(kBeforePayload - sizeof size, sizeof size, reinterpret_cast<const char*>(&size), sizeof size);
  file += payload;
  const std::uint32_t checksum = Crc32c(std::string_view(file).substr(kBeforeChecksum + sizeof checksum));
  return file.replace(kBeforeChecksum, sizeof checksum, reinterpret_cast<const char*>(&checksum), sizeof checksum);
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() {
  compare::RunRecord record;
  record.outcome.result.jobs.emplace_back().name = "a";
  record.outcome.result.tasks.emplace_back();
  record.outcome.result.samples.emplace_back();
  record.outcome.master_cpu_seconds = 2;
  record.phases.emplace();
  return {compare::EncodeRun({}).substr(kBeforePayload), compare::EncodeRun(record).substr(kBeforePayload),
          compare::EncodeConditions({{"--scheduler", "fifo"}}).substr(kBeforePayload)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  for (const std::string& file : {std::string(bytes), Sealed(bytes)}) {
    const Result<compare::RunRecord> run = compare::DecodeRun(file, "r");
    if (run.ok()) {
      const std::string written = compare::EncodeRun(*run);
      const Result<compare::RunRecord> again = compare::DecodeRun(written, "r");
      fuzz::Require(again.ok() && compare::EncodeRun(*again) == written, "a run changes when it is written and read");
    }
    const Result<compare::Conditions> conditions = compare::DecodeConditions(file, "c");
    if (conditions.ok()) {
      const Result<compare::Conditions> again = compare::DecodeConditions(compare::EncodeConditions(*conditions), "c");
      fuzz::Require(again.ok() && *again == *conditions, "conditions change when they are written and read");
    }
  }
  return 0;
}
