// SPDX-License-Identifier: Apache-2.0
#include "client/api/bind_job.h"

#include <string>

namespace millrace::internal {

Status BadBytes(const char* what, const TaskContext& context) {
  return Corrupt(std::string("a ") + what + " among the records for " + ToText(context.facts().attempt.task) +
                 " does not decode; does its Codec read what it writes?");
}

Status ValuesTakenTwice() {
  return Invalid(
      "the job's Reduce iterates over the values of a key a second time, but they can be read only once; keep what the "
      "second pass needs");
}

void LeaveOutRecord(TaskContext& context) { ++context.counter("millrace", "skipped_records"); }

void CountMapOutput(TaskContext& context, const map::CollectorFigures& figures, bool combines) {
  const auto set = [&](const char* name, std::uint64_t value) {
    context.counter("millrace", name).Set(static_cast<std::int64_t>(value));
  };
  set("map_output_records", figures.records);
  set("map_output_bytes", figures.bytes);
  set("map_stored_bytes", figures.output_bytes);
  set("spilled_records", figures.spilled_records);
  if (!combines) return;
  set("combine_input_records", figures.records);
  set("combine_output_records", figures.output_records);
}

}  // namespace millrace::internal
