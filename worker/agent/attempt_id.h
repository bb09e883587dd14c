// AttemptId: which attempt of which task of which job, and how it is written on the wire, in file names and in
// messages. Thread rule: free functions, any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "worker/task/task.capnp.h"

namespace millrace::worker {

struct AttemptId {
  std::uint32_t job = 0;
  bool reduce = false;
  std::uint32_t task = 0;
  std::uint32_t number = 0;
  auto operator<=>(const AttemptId&) const = default;
};

[[nodiscard]] AttemptId FromWire(task::wire::Attempt::Reader attempt);
void ToWire(const AttemptId& attempt, task::wire::Attempt::Builder wire);

// "m-00007.0": unique within its job, fit for a file name.
[[nodiscard]] std::string FileStem(const AttemptId& attempt);
// "job 3 m-00007.0", for messages.
[[nodiscard]] std::string ToText(const AttemptId& attempt);

}  // namespace millrace::worker
