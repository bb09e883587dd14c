#include "worker/agent/attempt_id.h"

#include <fmt/format.h>

namespace millrace::worker {

AttemptId FromWire(task::wire::Attempt::Reader attempt) {
  return {attempt.getJob(), attempt.getReduce(), attempt.getTask(), attempt.getNumber()};
}

void ToWire(const AttemptId& attempt, task::wire::Attempt::Builder wire) {
  wire.setJob(attempt.job);
  wire.setReduce(attempt.reduce);
  wire.setTask(attempt.task);
  wire.setNumber(attempt.number);
}

std::string FileStem(const AttemptId& attempt) {
  return fmt::format("{}-{:05}.{}", attempt.reduce ? 'r' : 'm', attempt.task, attempt.number);
}

std::string ToText(const AttemptId& attempt) { return fmt::format("job {} {}", attempt.job, FileStem(attempt)); }

}  // namespace millrace::worker
