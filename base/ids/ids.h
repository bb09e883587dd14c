// SPDX-License-Identifier: Apache-2.0
// The ids of jobs, tasks, attempts and nodes, which all parts of Millrace share. They are strong types: a job cannot be
// passed where a node is meant. Numbers are dense and small, assigned by the master (or the simulator), and never
// reused within one history.
//
// Each id has one text form, which command lines, logs, file names and the journal share: `job3`, `job3.m.17` (map
// number 17 of job 3), `job3.r.0.2` (the third attempt of its first reduce), `n7`. The header includes the standard
// library alone, so that the engine may use it. Thread rule: values.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

template <class Tag>
struct StrongId {
  std::uint32_t value = 0;
  auto operator<=>(const StrongId&) const = default;
};
using JobId = StrongId<struct JobTag>;
using NodeId = StrongId<struct NodeTag>;

enum class TaskKind : std::uint8_t { kMap = 0, kReduce = 1 };
inline constexpr std::array<TaskKind, 2> kTaskKinds = {TaskKind::kMap, TaskKind::kReduce};

// Holds one `T` for the maps and one for the reduces.
template <class T>
struct PerKind {
  std::array<T, kTaskKinds.size()> values = {};

  [[nodiscard]] constexpr T& operator[](TaskKind kind) { return values[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] constexpr const T& operator[](TaskKind kind) const { return values[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] constexpr auto begin() { return values.begin(); }
  [[nodiscard]] constexpr auto begin() const { return values.begin(); }
  [[nodiscard]] constexpr auto end() { return values.end(); }
  [[nodiscard]] constexpr auto end() const { return values.end(); }
  auto operator<=>(const PerKind&) const = default;
};

struct TaskId {
  JobId job;
  TaskKind kind = TaskKind::kMap;
  std::uint32_t index = 0;  // within the job's tasks of this kind, from 0
  [[nodiscard]] bool reduce() const { return kind == TaskKind::kReduce; }
  auto operator<=>(const TaskId&) const = default;
};

// One execution of a task. Numbers count from 0 in the order of launch.
struct AttemptId {
  TaskId task;
  std::uint32_t number = 0;
  auto operator<=>(const AttemptId&) const = default;
};

// These build the id of an attempt from its numbers.
[[nodiscard]] constexpr AttemptId MapAttemptId(JobId job, std::uint32_t map, std::uint32_t number) {
  return {{job, TaskKind::kMap, map}, number};
}
[[nodiscard]] constexpr AttemptId ReduceAttemptId(JobId job, std::uint32_t reduce, std::uint32_t number) {
  return {{job, TaskKind::kReduce, reduce}, number};
}

// The distance of a task from its data, or of one node from another: on the same node, in the same rack, in the same
// datacenter, in another datacenter.
enum class Locality : std::uint8_t { kNode = 0, kRack = 1, kDatacenter = 2, kOff = 3 };

[[nodiscard]] std::string ToText(JobId job);                 // "job3"
[[nodiscard]] std::string ToText(NodeId node);               // "n7"
[[nodiscard]] std::string ToText(const TaskId& task);        // "job3.m.17"
[[nodiscard]] std::string ToText(const AttemptId& attempt);  // "job3.m.17.0"

// These parse the texts that ToText returns. They return nothing for any other text, whatever its bytes.
[[nodiscard]] std::optional<JobId> ParseJob(std::string_view text);
[[nodiscard]] std::optional<NodeId> ParseNode(std::string_view text);
[[nodiscard]] std::optional<TaskId> ParseTask(std::string_view text);
[[nodiscard]] std::optional<AttemptId> ParseAttempt(std::string_view text);

}  // namespace millrace
