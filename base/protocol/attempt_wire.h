// FromWire and ToWire convert the id of an attempt in messages. Thread rule: free functions, any thread.
#pragma once

#include "base/ids/ids.h"
#include "base/protocol/task.capnp.h"

namespace millrace {

[[nodiscard]] inline AttemptId FromWire(task::wire::Attempt::Reader in) {
  const TaskKind kind = in.getReduce() ? TaskKind::kReduce : TaskKind::kMap;
  return {{JobId{in.getJob()}, kind, in.getTask()}, in.getNumber()};
}

inline void ToWire(const AttemptId& attempt, task::wire::Attempt::Builder out) {
  out.setJob(attempt.task.job.value);
  out.setReduce(attempt.task.reduce());
  out.setTask(attempt.task.index);
  out.setNumber(attempt.number);
}

}  // namespace millrace
