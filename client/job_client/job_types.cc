// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/job_types.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace millrace::job {
namespace {

constexpr std::array<std::string_view, 5> kPriorities{"VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW"};

std::optional<std::uint32_t> ParseNumber(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string_view InWords(GoState state) {
  switch (state) {
    case GoState::kUnknown:
      return "unknown";
    case GoState::kLost:
      return "lost";
    case GoState::kInUse:
      return "in use";
    case GoState::kHeld:
      return "held";
    case GoState::kBlocks:
      return "blocks";
    case GoState::kTasks:
      return "tasks";
    case GoState::kOutputs:
      return "outputs";
    case GoState::kYes:
      return "yes";
    case GoState::kDoubt:
      return "doubt";
  }
  return "unknown";
}

std::string PriorityName(std::uint8_t priority) {
  return priority < kPriorities.size() ? std::string(kPriorities[priority]) : std::to_string(priority);
}

Result<std::uint8_t> ParsePriority(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  for (std::size_t i = 0; i < kPriorities.size(); ++i) {
    if (kPriorities[i] == upper) return static_cast<std::uint8_t>(i);
  }
  return Invalid("priority " + Quote(name) + " is not VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW");
}

Result<JobId> ParseJobArgument(std::string_view text) {
  if (const std::optional<JobId> job = ParseJob(text)) return *job;
  if (const std::optional<std::uint32_t> number = ParseNumber(text)) return JobId{*number};
  return Invalid(Quote(text) + " is not a job; one is written like job3 or 3, and `millrace job list` shows them");
}

Result<AttemptId> ParseAttemptArgument(std::string_view text) {
  const std::optional<AttemptId> attempt = millrace::ParseAttempt(text);
  if (!attempt) return Invalid(Quote(text) + " is not an attempt; one is written like job3.m.17.0");
  return *attempt;
}

}  // namespace millrace::job
