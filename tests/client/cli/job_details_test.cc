// SPDX-License-Identifier: Apache-2.0
#include "client/cli/job_details.h"

#include <gmock/gmock.h>

#include "client/cli/log_page.h"
#include "tests/client/cli/console_pipe.h"

namespace millrace::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

JobStatus Waiting(const std::string& reason) {
  JobStatus status;
  status.job = JobId{3};
  status.name = "count";
  status.owner = "ann";
  status.reason = reason;
  status.output = "/out";
  status.submitted = kSecond;
  return status;
}

job::SchedulerView::Wait Wait(const std::string& slot, const std::string& reason) {
  job::SchedulerView::Wait wait;
  wait.job = JobId{3};
  wait.slot = slot;
  wait.pending = 2;
  wait.reason = reason;
  return wait;
}

Sayings Unknown(const std::optional<std::string>& start, const std::string& end) {
  Sayings sayings;
  job::Foretold& foretold = sayings.foretold.emplace_back();
  foretold.job = JobId{3};
  if (start) foretold.start.emplace().why = *start;
  foretold.end.why = end;
  return sayings;
}

std::size_t TimesIn(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(JobDetailsTest, AReasonIsToldOnce) {
  const std::string why = "is held, until `millrace job release 3`";
  const Waits waits{Wait("map", "it " + why), Wait("reduce", "it " + why)};
  const std::string held = JobDetails(Waiting(why), waits, Unknown("it " + why, "it " + why), 0);
  EXPECT_EQ(TimesIn(held, "held"), 1u) << held;
  EXPECT_THAT(held, EndsWith("\n  when it starts and is done is unknown\n"));

  const std::string full = "all 2 map slots are in use";
  const std::string waiting = JobDetails(Waiting(""), {Wait("map", full), Wait("reduce", full), Wait("permit", "x")},
                                         Unknown("no task has ended yet", "no task has ended yet"), 0);
  EXPECT_THAT(waiting,
              HasSubstr("  waits for map slots (has 0, wants 2 more) and reduce slots (has 0, wants 2 more): " + full +
                        "\n  waits for compute permits (has 0, wants 2 more): x\n"));
  EXPECT_THAT(waiting, EndsWith("\n  when it starts and is done is unknown: no task has ended yet\n"));
}

TEST(JobDetailsTest, NoTimeIsOfNoClock) {
  JobStatus runs = Waiting("");
  runs.state = JobState::kRunning;
  runs.first_launch = 2 * kSecond;
  EXPECT_THAT(JobDetails(runs, {}, Unknown(std::nullopt, "too far ahead"), 0),
              EndsWith(" running, copied 0%\n  when it is done is unknown: too far ahead\n"));
  EXPECT_THAT(JobDetails(Waiting(""), {}, Unknown("a", "b"), 0),
              EndsWith("\n  when it starts is unknown: a; when it is done is unknown: b\n"));
  Sayings known = Unknown(std::nullopt, "");
  known.foretold[0].end.at = 3600 * kSecond;
  EXPECT_THAT(JobDetails(runs, {}, known, 0), HasSubstr("\n  likely done 01:00 (UTC)\n"));
}

TEST(JobDetailsTest, ADeadlineThatIsOverIsTold) {
  JobStatus late = Waiting("");
  late.deadline = 10 * kSecond;
  EXPECT_THAT(JobDetails(late, {}, {}, 15 * kSecond), HasSubstr("\n  its deadline was 5 s ago\n"));
  EXPECT_THAT(JobDetails(late, {}, {}, 9 * kSecond), Not(HasSubstr("ago")));
}

TEST(JobDetailsTest, SaysWhyNothingRan) {
  EXPECT_EQ(WhyNothingRan(Waiting("")), "nothing of job3 has run: it waits for a slot");
  EXPECT_EQ(WhyNothingRan(Waiting("waits for job1 to succeed")),
            "nothing of job3 has run: it waits for job1 to succeed");
  JobStatus ended = Waiting("wrong \x1b[1minput");
  ended.state = JobState::kKilled;
  EXPECT_EQ(WhyNothingRan(ended), "nothing of job3 ran: it was killed: wrong \\x1b[1minput");
  ended.state = JobState::kFailed;
  ended.reason = "job1, after which it was to run, failed";
  EXPECT_EQ(WhyNothingRan(ended), "nothing of job3 ran: it failed: job1, after which it was to run, failed");
  ended.state = JobState::kSucceeded;
  ended.reason.clear();
  EXPECT_EQ(WhyNothingRan(ended), "nothing of job3 ran: it had nothing to do");
  ended.first_launch = kSecond;
  EXPECT_EQ(WhyNothingRan(ended), "");
}

TEST(LogPageTest, WhatFollowsALogBeginsALine) {
  const ConsolePipe pipe;
  {
    console::Printer out(pipe.Make().console);
    LogPage page(out);
    page.EndLog();
    page.Print("==== one\n");
    page.Print("half");
    page.Print(" a line");
    page.EndLog();
    page.Print("");
    page.EndLog();
    page.Print("==== two\n");
    page.Print("a line\n");
    page.EndLog();
    page.Print("==== three\nthe end");
    page.EndLog();
  }
  EXPECT_EQ(pipe.out(), "==== one\nhalf a line\n==== two\na line\n==== three\nthe end") << "its last bytes are its own";
}

}  // namespace
}  // namespace millrace::cli
