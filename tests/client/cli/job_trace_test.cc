// SPDX-License-Identifier: Apache-2.0
#include "client/cli/job_trace.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

namespace millrace::cli {
namespace {

using TraceJson = nlohmann::ordered_json;
using testing::ElementsAre;

AttemptStatus Attempt(TaskKind kind, std::uint32_t task, std::uint32_t number, std::uint32_t node, AttemptState state,
                      Micros launched, Micros ended) {
  return {{{JobId{7}, kind, task}, number}, NodeId{node}, "host", state, launched, ended, ""};
}

JobStatus Job() {
  JobStatus job;
  job.job = JobId{7};
  job.name = "name";
  job.submitted = 50;
  job.first_launch = 100;
  job.ended = 1'000;
  return job;
}

std::vector<TraceJson> Named(const std::vector<TraceJson>& events, const std::string& name) {
  std::vector<TraceJson> found;
  std::ranges::copy_if(events, std::back_inserter(found),
                       [&](const TraceJson& event) { return event["name"] == name; });
  return found;
}

std::tuple<int, int, Micros, Micros> Place(const TraceJson& event) {
  return {event["pid"], event["tid"], event["ts"], event.value("dur", Micros{0})};
}

TEST(JobTraceTest, AReduceHoldsItsCopyingItsWaitAndItsComputing) {
  const auto events = TraceEvents(Job(),
                                  {Attempt(TaskKind::kMap, 0, 0, 3, AttemptState::kSucceeded, 100, 200),
                                   Attempt(TaskKind::kReduce, 0, 0, 3, AttemptState::kSucceeded, 150, 900)},
                                  {{1, "300 ReduceCopied attempt=job7.r.0.0"},
                                   {2, "450 ComputeGranted attempt=job7.r.0.0"},
                                   {3, "451 ReduceComputing attempt=job7.r.0.0"},
                                   {4, "what a newer master writes"}},
                                  1'000);
  EXPECT_EQ(Place(Named(events, "map 0").at(0)), std::tuple(3, 1, 100, 100));
  EXPECT_EQ(Place(Named(events, "reduce 0").at(0)), std::tuple(3, 100'001, 150, 750));
  EXPECT_EQ(Place(Named(events, "copy").at(0)), std::tuple(3, 100'001, 150, 150));
  EXPECT_EQ(Place(Named(events, "wait").at(0)), std::tuple(3, 100'001, 300, 150));
  EXPECT_EQ(Place(Named(events, "compute").at(0)), std::tuple(3, 100'001, 450, 450));
  EXPECT_EQ(Place(Named(events, "waits").at(0)), std::tuple(0, 0, 50, 50));
  EXPECT_EQ(Place(Named(events, "runs").at(0)), std::tuple(0, 0, 100, 900));
  const auto arrow = Named(events, "map output");
  ASSERT_EQ(arrow.size(), 2U);
  EXPECT_EQ(Place(arrow[0]), std::tuple(3, 1, 199, 0));
  EXPECT_EQ(Place(arrow[1]), std::tuple(3, 100'001, 200, 0));
}

TEST(JobTraceTest, SecondAttemptsAndThoseThatDidNotSucceedAreNamed) {
  const auto events = TraceEvents(Job(),
                                  {Attempt(TaskKind::kMap, 0, 0, 1, AttemptState::kKilled, 100, 300),
                                   Attempt(TaskKind::kMap, 0, 1, 2, AttemptState::kSucceeded, 200, 300),
                                   Attempt(TaskKind::kMap, 1, 0, 1, AttemptState::kFailed, 300, 400),
                                   Attempt(TaskKind::kMap, 1, 1, 1, AttemptState::kRunning, 400, 0)},
                                  {}, 1'000);
  std::vector<std::string> names;
  for (const TraceJson& event : events) {
    if (event["ph"] == "X" && event["pid"] != 0) names.push_back(event["name"]);
  }
  EXPECT_THAT(names,
              ElementsAre("map 0, killed", "map 0, second attempt", "map 1, failed", "map 1, attempt 1, running"));
  EXPECT_EQ(Place(Named(events, "map 1, attempt 1, running").at(0)), std::tuple(1, 1, 400, 600));
}

TEST(JobTraceTest, NamesFromAnywhereStayTexts) {
  JobStatus job = Job();
  job.name = "\x1b\xff\"";
  AttemptStatus attempt = Attempt(TaskKind::kMap, 0, 0, 1, AttemptState::kFailed, 1, 2);
  attempt.host = attempt.reason = "\xff\n";
  for (const TraceJson& event : TraceEvents(job, {attempt}, {}, 1'000)) EXPECT_NO_THROW((void)event.dump());
}

// On each track, spans are apart or one lies within the other; arrows end in reduces; and each attempt is there with
// its times, once.
TEST(JobTraceTest, TracksAreSoundWhateverTheHistory) {
  for (unsigned seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<AttemptStatus> attempts;
    std::map<std::uint64_t, std::string> history;
    for (unsigned n = random() % 40; n > 0; --n) {
      const Micros launched = 100 + random() % 800;
      const Micros ended = random() % 5 == 0 ? 0 : launched + random() % 100;
      AttemptStatus attempt = Attempt(random() % 2 == 0 ? TaskKind::kMap : TaskKind::kReduce, random() % 10, n,
                                      1 + random() % 4, static_cast<AttemptState>(random() % 6), launched, ended);
      const auto line = [&](const char* event) {
        if (random() % 2 == 0)
          history[history.size()] =
              std::to_string(random() % 1'000) + " " + event + " attempt=" + ToText(attempt.attempt);
      };
      line("ReduceCopied");
      line("ComputeGranted");
      line("ReduceComputing");
      attempts.push_back(attempt);
    }
    const auto events = TraceEvents(Job(), attempts, history, 1'000);
    std::map<std::pair<int, int>, std::vector<std::pair<Micros, Micros>>> tracks;
    std::multiset<std::tuple<std::string, int, Micros, Micros>> drawn, wanted;
    for (const TraceJson& event : events) {
      if (event["ph"] != "X") continue;
      const auto [process, thread, begin, length] = Place(event);
      ASSERT_GE(length, 0);
      tracks[{process, thread}].emplace_back(begin, begin + length);
      if (event.contains("args")) drawn.emplace(event["args"]["attempt"].get<std::string>(), process, begin, length);
    }
    for (const AttemptStatus& attempt : attempts) {
      const Micros end = attempt.ended == 0 ? 1'000 : attempt.ended;
      wanted.emplace(ToText(attempt.attempt), attempt.node.value, attempt.launched, end - attempt.launched);
    }
    ASSERT_EQ(drawn, wanted);
    for (const auto& [track, spans] : tracks) {
      for (const auto& one : spans) {
        for (const auto& other : spans) {
          const bool apart = one.second <= other.first || other.second <= one.first;
          const bool within = (one.first <= other.first && other.second <= one.second) ||
                              (other.first <= one.first && one.second <= other.second);
          ASSERT_TRUE(apart || within) << one.first << " " << one.second << " " << other.first << " " << other.second;
        }
      }
    }
    std::map<int, int> ends;
    for (const TraceJson& event : events) {
      if (event["ph"] != "s" && event["ph"] != "f") continue;
      const bool in_reduce = event["tid"].get<int>() > 100'000;
      ASSERT_EQ(event["ph"] == "f", in_reduce);
      ends[event["id"]] += event["ph"] == "f" ? 100 : 1;
      const auto [process, thread, at, none] = Place(event);
      ASSERT_TRUE(std::ranges::any_of(tracks.at({process, thread}),
                                      [at = at](const auto& span) { return span.first <= at && at <= span.second; }));
    }
    for (const auto& [id, sum] : ends) ASSERT_EQ(sum, 101);
  }
}

TEST(JobTraceTest, ArrowsAreBounded) {
  std::vector<AttemptStatus> attempts;
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    attempts.push_back(Attempt(TaskKind::kMap, i, 0, 1 + i % 50, AttemptState::kSucceeded, 100 + i, 101 + i));
    attempts.push_back(Attempt(TaskKind::kReduce, i, 0, 1 + i % 50, AttemptState::kSucceeded, 2'000, 3'000));
  }
  const auto arrows = Named(TraceEvents(Job(), attempts, {}, 3'000), "map output");
  EXPECT_EQ(arrows.size(), 2 * kMostArrows);
}

}  // namespace
}  // namespace millrace::cli
