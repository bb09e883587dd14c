// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/agent/room_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace millrace::worker {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// A job has so many MiB, `served` of them in outputs, and attempts of these sizes.
JobRoom Job(std::uint32_t job, std::uint64_t bytes, std::vector<std::uint64_t> attempts, std::uint64_t served = 0,
            bool seen_whole = true) {
  JobRoom room{JobId{job}, bytes * kMiB, served * kMiB, seen_whole, {}};
  for (std::uint32_t i = 0; i < attempts.size(); ++i)
    room.attempts.emplace_back(attempts[i] * kMiB, MapAttemptId(JobId{job}, i, 0));
  return room;
}

std::string Chosen(const std::vector<JobRoom>& jobs, std::uint64_t missing) {
  std::string text;
  for (const GivesWay& way : ChooseWhoGivesWay(jobs, missing * kMiB)) {
    text += fmt::format("{}{}{}:", text.empty() ? "" : " ", way.to_blame ? "!" : "", way.job.value);
    for (const auto& [bytes, attempt] : way.attempts) text += std::to_string(attempt.task.index);
    if (way.all) text += "*";
  }
  return text;
}

TEST(RoomPlanTest, WhoGivesWay) {
  const struct {
    std::string name;
    std::vector<JobRoom> jobs;
    std::uint64_t missing;
    std::string chosen;
  } rows[] = {
      {"nobody is there", {}, 10, ""},
      {"nobody wrote", {Job(1, 0, {0, 0})}, 10, ""},
      {"the largest attempt", {Job(1, 9, {2, 7})}, 1, "!1:1"},
      {"as many as are needed", {Job(1, 12, {3, 2, 7})}, 10, "!1:20"},
      {"of the largest job, though its attempts are small", {Job(1, 6, {6}), Job(2, 9, {3, 3, 3})}, 1, "!2:0"},
      {"then of the next, which is not to blame", {Job(1, 6, {6}), Job(2, 9, {9})}, 10, "!2:0 1:0"},
      {"not those that wrote nothing", {Job(1, 6, {0, 6, 0})}, 100, "!1:1"},
      {"beside its attempts", {Job(1, 9, {2, 0}), Job(2, 5, {5})}, 1, "!1:01*"},
      {"some beside, and not needed", {Job(1, 9, {5, 0})}, 1, "!1:0"},
      {"some beside, and needed", {Job(1, 9, {5, 0})}, 8, "!1:01*"},
      {"without attempts", {Job(1, 9, {})}, 1, "!1:*"},
      {"what is served counts for nothing", {Job(1, 90, {}, 90), Job(2, 5, {5})}, 10, "!2:0"},
      {"but what is beside it does", {Job(1, 99, {}, 90), Job(2, 5, {5})}, 1, "!1:*"},
      {"who cannot be looked at", {Job(1, 9, {9}), Job(2, 0, {0}, 0, false)}, 10, "!2:0*"},
      {"files grow while they are looked at", {Job(1, 5, {9}, 3)}, 10, "!1:0"},
  };
  for (const auto& row : rows) EXPECT_EQ(Chosen(row.jobs, row.missing), row.chosen) << row.name;
}

}  // namespace
}  // namespace millrace::worker
