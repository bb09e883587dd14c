// FromWire and ToWire convert the id of an attempt in messages. Thread rule: free functions, any thread.
#pragma once

#include "base/ids/ids.h"
#include "base/protocol/task.capnp.h"
#include "base/protocol/wire_fields.h"

namespace millrace {

inline constexpr auto kAttemptFields = [](auto& message, auto& attempt) {
  MILLRACE_WIRE(message, Job, attempt.task.job);
  MILLRACE_WIRE(message, Reduce, attempt.task.kind);
  MILLRACE_WIRE(message, Task, attempt.task.index);
  MILLRACE_WIRE(message, Number, attempt.number);
};

[[nodiscard]] inline AttemptId FromWire(task::wire::Attempt::Reader in) {
  return ReadMessage<AttemptId>(in, kAttemptFields);
}
inline void ToWire(const AttemptId& attempt, task::wire::Attempt::Builder out) {
  WriteMessage(attempt, out, kAttemptFields);
}

}  // namespace millrace
