// SPDX-License-Identifier: Apache-2.0
// The page from a journal: what its lines come to, what it does not tell, and journals that are damaged or hostile.
#include "client/ui/journal_view.h"

#include <gmock/gmock.h>

#include <fstream>
#include <memory>
#include <string>

#include "base/file.h"
#include "client/ui/api.h"

namespace millrace::ui {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::ordered_json;

// Three nodes; a job that has succeeded, with a second attempt, a failure and a lost node; one that has failed, and one
// that runs.
constexpr const char* kJournal =
    "# a comment\n"
    "1000000 SchedulerSet name=fair\n"
    "1000000 NodeJoined node=n1 rack=r1 datacenter=d maps=2 reduces=1\n"
    "1000000 NodeJoined node=n2 rack=r1 datacenter=d maps=2 reduces=1\n"
    "1000000 NodeJoined node=n3 rack=r2 datacenter=d maps=2 reduces=1\r\n"
    "\n"
    "2000000 JobSubmitted job=job1 name=%3Cimg%20src%3Dx%3E user=ann pool=etl priority=HIGH maps=64:n1;10:n1;6:n3 "
    "reduces=1 max_attempts=4\n"
    "3000000 AttemptLaunched attempt=job1.m.0.0 node=n1\n"
    "3000000 AttemptLaunched attempt=job1.m.1.0 node=n2\n"
    "3000000 AttemptLaunched attempt=job1.m.2.0 node=n3\n"
    "4000000 AttemptLaunched attempt=job1.m.0.1 node=n2\n"
    "5000000 AttemptSucceeded attempt=job1.m.0.0 input_bytes=64 output_bytes=9\n"
    "5000000 AttemptFailed attempt=job1.m.1.0 reason=bad%20input\n"
    "6000000 AttemptLaunched attempt=job1.m.1.1 node=n1\n"
    "7000000 NodeLost node=n3\n"
    "7000000 AttemptLaunched attempt=job1.m.2.1 node=n1\n"
    "8000000 AttemptSucceeded attempt=job1.m.1.1 input_bytes=10\n"
    "8000000 AttemptSucceeded attempt=job1.m.2.1 input_bytes=6\n"
    "9000000 woken\n"
    "9000000 AttemptLaunched attempt=job1.r.0.0 node=n2\n"
    "10000000 ReduceCopied attempt=job1.r.0.0\n"
    "11000000 ReduceComputing attempt=job1.r.0.0\n"
    "14000000 AttemptSucceeded attempt=job1.r.0.0\n"
    "15000000 JobSubmitted job=job2 name=bad user=bob maps=5:n1 reduces=0 max_attempts=1\n"
    "16000000 AttemptLaunched attempt=job2.m.0.0 node=n1\n"
    "17000000 AttemptFailed attempt=job2.m.0.0 reason=exit%20status%201\n"
    "18000000 JobSubmitted job=job3 name=live user=bob maps=5:n1;5:n1 reduces=2\n"
    "19000000 AttemptLaunched attempt=job3.m.0.0 node=n1\n"
    "20000000 JobSubmitted job=job4 name=later user=ann pool=etl maps=5:n1 reduces=0\n"
    "20000000 JobHeld job=job4 held=1\n"
    "21000000 NodeDrained node=n2 drained=1\n";

class JournalViewTest : public testing::Test {
 protected:
  [[nodiscard]] std::string Write(const std::string& text) const {
    std::string path = directory_.path() + "/journal";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  // Returns the document; of a failure, with its status.
  static Json Get(View& view, const std::string& path, unsigned status = 200) {
    const http::Answer answer = Api(view).Get(Query(std::string(Api::kPrefix) + path));
    EXPECT_EQ(answer.status, status) << path << ": " << answer.body;
    return Json::parse(answer.body);
  }
  [[nodiscard]] std::unique_ptr<JournalView> Read(const std::string& text,
                                                  const JournalPlay::Limits& limits = {}) const {
    Result<std::unique_ptr<JournalView>> view = JournalView::Read(Write(text), limits);
    EXPECT_TRUE(view.ok()) << view.status().message();
    return *std::move(view);
  }
  [[nodiscard]] std::string WhyNot(const std::string& text, const JournalPlay::Limits& limits = {}) const {
    const Result<std::unique_ptr<JournalView>> view = JournalView::Read(Write(text), limits);
    EXPECT_FALSE(view.ok());
    return view.ok() ? "" : std::string(view.status().message());
  }

 protected:
  TempDir directory_ = *TempDir::Make("journal");
};

TEST_F(JournalViewTest, JobsAsTheyWereAtTheEnd) {
  const std::unique_ptr<JournalView> view = Read(kJournal);
  const Json jobs = Get(*view, "jobs");
  ASSERT_EQ(jobs.size(), 4U);
  const Json& first = jobs[0];
  EXPECT_EQ(first["name"], "<img src=x>");
  EXPECT_EQ(first["state"], "succeeded");
  EXPECT_EQ(first["owner"], "ann");
  EXPECT_EQ(first["pool"], "etl");
  EXPECT_EQ(first["priority"], "HIGH");
  EXPECT_EQ(first["submitted_at"], 2.0);
  EXPECT_EQ(first["first_launched_at"], 3.0);
  EXPECT_EQ(first["ended_at"], 14.0);
  EXPECT_EQ(first["maps"]["done"], 3);
  EXPECT_EQ(first["maps_launched"]["node"], 3) << "maps 0 and 2 at first, and map 1 again";
  EXPECT_EQ(first["maps_launched"]["rack"], 2) << "map 1 at first, and the second attempt of map 0";
  EXPECT_EQ(first["maps_launched"]["off"], 1) << "map 2 again, of which no node that lives has the input";
  EXPECT_EQ(first["failed_attempts"], 1);
  EXPECT_EQ(first["speculative_attempts"], 1);
  EXPECT_EQ(first["input_bytes"], 80);
  EXPECT_EQ(first["bytes_read"], 80);
  EXPECT_EQ(jobs[1]["state"], "failed");
  EXPECT_THAT(jobs[1]["reason"].get<std::string>(), HasSubstr("exit status 1"));
  EXPECT_EQ(jobs[1]["ended_at"], 17.0);
  EXPECT_EQ(jobs[2]["state"], "running");
  EXPECT_EQ(jobs[2]["ended_at"], nullptr);
  EXPECT_EQ(jobs[2]["maps"]["running"], 1);
  EXPECT_EQ(jobs[2]["maps"]["total"], 2);
  EXPECT_EQ(jobs[3]["state"], "waiting");
  EXPECT_EQ(jobs[3]["held"], true);
  EXPECT_EQ(Get(*view, "jobs?live").size(), 2U);
  EXPECT_EQ(Get(*view, "jobs?ended&state=failed")[0], jobs[1]);
  EXPECT_EQ(Get(*view, "jobs/job1"), first);
  Get(*view, "jobs/5", 404);
  Get(*view, "jobs?state=odd", 400);
}

TEST_F(JournalViewTest, TasksAndWhereTheTimeWent) {
  const std::unique_ptr<JournalView> view = Read(kJournal);
  const Json tasks = Get(*view, "jobs/1/tasks");
  ASSERT_EQ(tasks.size(), 7U);
  const auto expect = [&](std::size_t at, const std::string& attempt, const std::string& state, int node, double ended,
                          const std::string& reason) {
    EXPECT_EQ(tasks[at]["attempt"], attempt);
    EXPECT_EQ(tasks[at]["state"], state) << attempt;
    EXPECT_EQ(tasks[at]["node"], node) << attempt;
    EXPECT_EQ(tasks[at]["ended_at"], ended) << attempt;
    EXPECT_THAT(tasks[at]["reason"].get<std::string>(), HasSubstr(reason)) << attempt;
    EXPECT_EQ(tasks[at]["host"], nullptr);
  };
  expect(0, "job1.m.0.0", "succeeded", 1, 5, "");
  expect(1, "job1.m.1.0", "failed", 2, 5, "bad input");
  expect(2, "job1.m.2.0", "lost", 3, 7, "worker was lost");
  expect(3, "job1.m.0.1", "killed", 2, 5, "attempt 0 has succeeded");
  expect(4, "job1.m.1.1", "succeeded", 1, 8, "");
  expect(5, "job1.m.2.1", "succeeded", 1, 8, "");
  expect(6, "job1.r.0.0", "succeeded", 2, 14, "");
  EXPECT_EQ(tasks[0]["reason"], "");
  EXPECT_EQ(Get(*view, "jobs/1/tasks?sort=took&limit=1")[0]["attempt"], "job1.r.0.0");
  const Json time = Get(*view, "jobs/1/summary")["time"];
  EXPECT_EQ(time["waited_s"], 1.0);
  EXPECT_EQ(time["map_s"], 2.0 + 2.0 + 1.0);
  EXPECT_EQ(time["wasted_s"], 2.0 + 4.0 + 1.0);
  EXPECT_EQ(time["copy_s"], 1.0);
  EXPECT_EQ(time["wait_s"], 1.0);
  EXPECT_EQ(time["compute_s"], 3.0);
  // What still ran, ran until the end of the journal.
  EXPECT_EQ(Get(*view, "jobs/3/summary")["time"]["map_s"], 2.0);
  const Json stream = Get(*view, "stream");
  EXPECT_EQ(stream["now_at"], 21.0);
  EXPECT_EQ(stream["attempts"].size(), 9U);
  EXPECT_EQ(Get(*view, "stream?last_s=5")["attempts"].size(), 2U) << "those of jobs 2 and 3";
  EXPECT_EQ(Get(*view, "stream?job=2")["attempts"].size(), 1U);
}

TEST_F(JournalViewTest, NodesPoolsAndDecisions) {
  const std::unique_ptr<JournalView> view = Read(kJournal);
  const Json nodes = Get(*view, "nodes");
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0]["state"], "alive");
  EXPECT_EQ(nodes[0]["rack"], "r1");
  EXPECT_EQ(nodes[0]["maps_running"], 1);
  EXPECT_EQ(nodes[1]["state"], "drained");
  EXPECT_EQ(nodes[2]["state"], "lost");
  EXPECT_EQ(nodes[0]["free"], nullptr);
  const Json cluster = Get(*view, "cluster");
  EXPECT_EQ(cluster["scheduler"], "fair");
  EXPECT_EQ(cluster["nodes"]["live"], 2);
  EXPECT_EQ(cluster["nodes"]["lost"], 1);
  EXPECT_EQ(cluster["slots"]["maps"], 4);
  EXPECT_EQ(cluster["slots"]["maps_running"], 1);
  EXPECT_EQ(cluster["jobs"]["running"], 1);
  EXPECT_EQ(cluster["jobs"]["waiting"], 1);
  const Json pools = Get(*view, "scheduler")["groups"];
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[0]["name"], "bob");
  EXPECT_EQ(pools[0]["jobs"], 1) << "the other one has ended";
  EXPECT_EQ(pools[0]["maps"]["running"], 1);
  EXPECT_EQ(pools[0]["maps"]["demand"], 2);
  EXPECT_EQ(pools[0]["maps"]["share"], nullptr);
  EXPECT_EQ(pools[1]["name"], "etl");
  const Json decisions = Get(*view, "decisions?launches");
  EXPECT_EQ(decisions[0]["event"], "NodeDrained");
  EXPECT_EQ(decisions[0]["number"], 31) << "the number of its line";
  EXPECT_EQ(decisions[1]["event"], "JobHeld");
  EXPECT_EQ(decisions[1]["job"], 4);
  EXPECT_EQ(decisions[2]["attempt"], "job3.m.0.0");
  EXPECT_EQ(decisions[2]["why"], "its input is on the node");
}

TEST_F(JournalViewTest, WhatAJournalCannotKnowIsNoZero) {
  const std::unique_ptr<JournalView> view = Read(kJournal);
  const Json job = Get(*view, "jobs/1");
  for (const char* const field : {"output", "bytes_shuffled", "bytes_written", "after", "foretold", "waits"})
    EXPECT_EQ(job.at(field), nullptr) << field;
  const Json cluster = Get(*view, "cluster");
  for (const char* const field : {"healthy", "faults", "up_s", "disks", "files", "blocks", "backup", "cluster"})
    EXPECT_EQ(cluster.at(field), nullptr) << field;
  for (const char* const path : {"files?path=%2F", "jobs/1/counters", "jobs/1/logs/job1.m.0.0?stream=stderr", "whoami"})
    EXPECT_THAT(Get(*view, path, 404)["error"].get<std::string>(), StartsWith("a journal has nothing of ")) << path;
  EXPECT_THAT(Get(*view, "jobs/1/history", 404)["error"].get<std::string>(), HasSubstr("in the journal itself"));
  const Json source = Get(*view, "source")["journal"];
  EXPECT_THAT(source["file"].get<std::string>(), EndsWith("/journal"));
  EXPECT_EQ(source["lines"], 29);
  EXPECT_EQ(source["from_at"], 1.0);
  EXPECT_EQ(source["to_at"], 21.0);
  EXPECT_EQ(source["refused_lines"], 0);
  EXPECT_EQ(Json::parse(Api(*view).Digest())["now_at"], 21.0);
}

TEST_F(JournalViewTest, ADamagedJournalIsRefusedWithItsLine) {
  EXPECT_THAT(WhyNot("1 NodeJoined node=n1\n2 NodeJoi"), EndsWith("/journal:2: \"2 NodeJoi\" is not an event"));
  EXPECT_THAT(WhyNot("\n# a\n\x7f\x45LF\n"), HasSubstr(":3: "));
  EXPECT_THAT(WhyNot(""), HasSubstr("it has no event"));
  EXPECT_THAT(WhyNot("# nothing\n"), HasSubstr("it has no event"));
  EXPECT_THAT(WhyNot("-1 NodeJoined node=n1\n"), HasSubstr(":1: "));
  EXPECT_THAT(WhyNot("9223372036854775807 NodeJoined node=n1\n"), HasSubstr(":1: "));
  EXPECT_THAT(WhyNot("1 JobSubmitted job=job1 deadline=9223372036854775807\n"), HasSubstr("deadline"));
  const Result<std::unique_ptr<JournalView>> none = JournalView::Read(directory_.path() + "/no/such");
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("no/such"));
  EXPECT_FALSE(JournalView::Read(directory_.path()).ok()) << "a directory";
}

TEST_F(JournalViewTest, LinesThatDoNotFitAreCounted) {
  const std::unique_ptr<JournalView> view = Read(
      "5 NodeJoined node=n1 maps=1\n5 JobSubmitted job=job1 maps=1:n1\n5 AttemptSucceeded attempt=job1.m.0.0\n"
      "6 AttemptLaunched attempt=job1.m.9.0 node=n1\n6 AttemptLaunched attempt=job1.m.0.0 node=n7\n"
      "6 JobSubmitted job=job16777216\n6 JobKilled job=job4294967295\n"
      "4 AttemptLaunched attempt=job1.m.0.0 node=n1\n");
  const Json source = Get(*view, "source")["journal"];
  EXPECT_EQ(source["refused_lines"], 5);
  EXPECT_EQ(source["first_refused_line"], 3);
  EXPECT_EQ(Get(*view, "jobs").size(), 1U);
  const Json tasks = Get(*view, "jobs/1/tasks");
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0]["launched_at"], 6e-6) << "time does not go back";
}

TEST_F(JournalViewTest, TimesThatAJournalInventsDoNotOverflow) {
  std::string journal = "0 NodeJoined node=n0 maps=9\n0 JobSubmitted job=job0 maps=1:n0;1:n0\n";
  for (const char* const map : {"0", "1"})
    journal += std::string("0 AttemptLaunched attempt=job0.m.") + map + ".0 node=n0\n";
  for (const char* const map : {"0", "1"})
    journal += std::string("253402300799000000 AttemptSucceeded attempt=job0.m.") + map +
               ".0 cpu=9223372036854775807 input_bytes=18446744073709551615\n";
  const std::unique_ptr<JournalView> view = Read(journal);
  EXPECT_EQ(Get(*view, "jobs/0")["state"], "succeeded") << "a simulation has a job 0, which begins at 0";
  const Json time = Get(*view, "jobs/0/summary")["time"];
  EXPECT_NEAR(time["cpu_s"].get<double>(), 2 * 9223372036854.775807, 1);
  EXPECT_NEAR(time["map_s"].get<double>(), 2 * 253402300799.0, 1);
  EXPECT_EQ(Get(*view, "stream")["attempts"].size(), 2U);
}

TEST_F(JournalViewTest, AJournalThatWouldTakeAllMemoryIsRefused) {
  EXPECT_THAT(WhyNot("1 NodeJoined node=n16777215\n"), HasSubstr(":1: node 16777215"));
  EXPECT_THAT(WhyNot("1 JobSubmitted job=job1 reduces=60\n1 JobSubmitted job=job2 reduces=60\n", {.live_tasks = 100}),
              HasSubstr(":2: with job2 more than 100 tasks"));
  EXPECT_THAT(WhyNot("1 JobSubmitted job=job1 maps=1:n1\n2 JobKilled job=job1\n3 JobSubmitted job=job2 maps=1:n1\n",
                     {.jobs = 1}),
              HasSubstr(":3: it has more than 1 jobs"));
}

TEST_F(JournalViewTest, OfTooManyAttemptsThoseOfTheNewestJobsStay) {
  std::string journal = "1 NodeJoined node=n1 maps=9\n";
  for (int i = 1; i <= 12; ++i) {
    const std::string job = "job" + std::to_string(i), at = std::to_string(10 * i);
    journal += at + " JobSubmitted job=" + job + " maps=1:n1\n" + at + " AttemptLaunched attempt=" + job +
               ".m.0.0 node=n1\n" + at + " AttemptSucceeded attempt=" + job + ".m.0.0\n";
  }
  const std::unique_ptr<JournalView> view = Read(journal, {.attempts = 8});
  EXPECT_EQ(Get(*view, "jobs").size(), 12U);
  EXPECT_EQ(Get(*view, "source")["journal"]["jobs_without_attempts"], 6) << "3 of 9, and 3 of 9 again";
  EXPECT_THAT(Get(*view, "jobs/6/tasks", 404)["error"].get<std::string>(), HasSubstr("more than 8 attempts"));
  EXPECT_EQ(Get(*view, "jobs/7/tasks").size(), 1U);
}

}  // namespace
}  // namespace millrace::ui
