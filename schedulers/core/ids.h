// Names of the things that a scheduler speaks of. Strong types: a job cannot be passed where a node is meant.
// All are dense small numbers, given by the driver (the master or the simulator), never reused within one history.
#pragma once

#include <compare>
#include <cstdint>

namespace millrace::sched {

// Microseconds; in the live master since the Unix epoch, in the simulator since its start. Never goes back within a
// history.
using Time = std::int64_t;
inline constexpr Time kMillisecond = 1'000;
inline constexpr Time kSecond = 1'000'000;

template <class Tag>
struct StrongId {
  std::uint32_t value = 0;
  auto operator<=>(const StrongId&) const = default;
};
using JobId = StrongId<struct JobTag>;
using NodeId = StrongId<struct NodeTag>;

enum class TaskKind : std::uint8_t { kMap = 0, kReduce = 1 };

struct TaskId {
  JobId job;
  TaskKind kind = TaskKind::kMap;
  std::uint32_t index = 0;  // within the job's tasks of this kind, from 0
  auto operator<=>(const TaskId&) const = default;
};

// One execution of a task. Numbers count from 0 in the order of launch.
struct AttemptId {
  TaskId task;
  std::uint32_t number = 0;
  auto operator<=>(const AttemptId&) const = default;
};

}  // namespace millrace::sched
