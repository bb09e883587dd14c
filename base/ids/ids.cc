// SPDX-License-Identifier: Apache-2.0
#include "base/ids/ids.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace millrace {
namespace {

std::optional<std::uint32_t> ParseNumber(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::optional<std::uint32_t> ParsePrefixed(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return ParseNumber(text.substr(prefix.size()));
}

// Returns the text before the first dot, or all of it. *text keeps what comes after.
std::string_view CutField(std::string_view* text) {
  const std::size_t at = std::min(text->find('.'), text->size());
  const std::string_view field = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return field;
}

}  // namespace

std::string ToText(JobId job) { return "job" + std::to_string(job.value); }
std::string ToText(NodeId node) { return "n" + std::to_string(node.value); }

std::string ToText(const TaskId& task) {
  return ToText(task.job) + (task.kind == TaskKind::kMap ? ".m." : ".r.") + std::to_string(task.index);
}

std::string ToText(const AttemptId& attempt) { return ToText(attempt.task) + '.' + std::to_string(attempt.number); }

std::optional<JobId> ParseJob(std::string_view text) {
  const auto number = ParsePrefixed("job", text);
  return number ? std::optional(JobId{*number}) : std::nullopt;
}

std::optional<NodeId> ParseNode(std::string_view text) {
  const auto number = ParsePrefixed("n", text);
  return number ? std::optional(NodeId{*number}) : std::nullopt;
}

std::optional<TaskId> ParseTask(std::string_view text) {
  const auto job = ParseJob(CutField(&text));
  const std::string_view kind = CutField(&text);
  const auto index = ParseNumber(text);
  if (!job || !index || (kind != "m" && kind != "r")) return std::nullopt;
  return TaskId{*job, kind == "m" ? TaskKind::kMap : TaskKind::kReduce, *index};
}

std::optional<AttemptId> ParseAttempt(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto task = ParseTask(text.substr(0, dot));
  const auto number = ParseNumber(text.substr(dot + 1));
  if (!task || !number) return std::nullopt;
  return AttemptId{*task, *number};
}

}  // namespace millrace
