// SPDX-License-Identifier: Apache-2.0
#include "client/top/screen.h"

#include <gmock/gmock.h>

#include <random>

#include "base/console/table.h"

namespace millrace::top {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr Micros kNow = 1'800'000'000 * kSecond;

JobStatus Job(std::uint32_t number, const std::string& name, double maps) {
  JobStatus job;
  job.job = JobId{number};
  job.name = name;
  job.owner = "ann";
  job.pool = "etl";
  job.state = maps > 0 ? JobState::kRunning : JobState::kWaiting;
  job.submitted = kNow - 100 * kSecond;
  job.first_launch = maps > 0 ? kNow - 65 * kSecond : 0;
  job.maps = {
      .total = 100, .running = maps > 0 ? 4U : 0U, .done = static_cast<std::uint32_t>(maps * 100), .fraction = maps};
  return job;
}

Picture Small() {
  Picture picture;
  picture.master = "localhost:7700";
  picture.cluster.scheduler = "fair";
  picture.cluster.live = 2;
  picture.cluster.lost = 1;
  picture.cluster.map_slots = 8;
  picture.cluster.maps_running = 4;
  picture.cluster.reduce_slots = 2;
  picture.cluster.jobs_running = picture.cluster.jobs_waiting = 1;
  picture.jobs = {Job(7, "count the words", 0.5), Job(8, "later", 0)};
  picture.scheduler.now = kNow;
  picture.scheduler.group_noun = "pool";
  job::SchedulerView::Group pool;
  pool.name = "etl";
  pool.jobs = 2;
  pool.maps.running = 4;
  pool.maps.demand = 54;
  pool.maps.share = 8;
  picture.scheduler.groups = {pool};
  job::SchedulerView::Wait wait;
  wait.job = JobId{8};
  wait.slot = "map";
  wait.reason = "its pool has its share";
  picture.scheduler.waits = {wait};
  job::Node node;
  node.node = NodeId{3};
  node.name = "three";
  node.alive = true;
  node.map_slots = 4;
  node.maps_running = 2;
  node.capacity = 1'000;
  node.free = 250;
  picture.nodes = {node};
  picture.nodes_known = true;
  return picture;
}

std::vector<std::string> Texts(const std::vector<Line>& lines) {
  std::vector<std::string> texts;
  for (const Line& line : lines) texts.push_back(line.text);
  return texts;
}

// 1'800'000'000 is the 15th of January 2027, 8:00 UTC, by `date -u -d @1800000000`.
TEST(TopScreenTest, WhatIsLikelyStandsBesideTheJob) {
  Picture picture = Small();
  job::Foretold running{.job = JobId{7}, .made = kNow, .start = {}, .end = {}};
  running.end.at = kNow + 3600 * kSecond;
  job::Foretold waiting{.job = JobId{8}, .made = kNow, .start = job::ForetoldTime{}, .end = {}};
  waiting.start->at = kNow + 7260 * kSecond;
  picture.foretold = {running, waiting};
  EXPECT_THAT(Texts(Draw(picture, {}, {200, 24}, kNow)),
              AllOf(Contains(HasSubstr("LIKELY (UTC)")), Contains(AllOf(StartsWith("7 "), HasSubstr("done 09:00"))),
                    Contains(AllOf(StartsWith("8 "), HasSubstr("starts 10:01")))));
  picture.foretold = {running};
  EXPECT_THAT(Texts(Draw(picture, {}, {200, 24}, kNow)), Not(Contains(HasSubstr("starts"))));
}

TEST(TopScreenTest, JobsAt80And200Columns) {
  const std::vector<std::string> narrow = Texts(Draw(Small(), {}, {80, 24}, kNow));
  EXPECT_THAT(narrow[1], StartsWith("4 of 8 map and 0 of 2 reduce slots busy; 1 job runs, 1 waits; 2 nodes live,"));
  EXPECT_THAT(narrow, Contains(AllOf(StartsWith("7 "), HasSubstr("[===>  ]"), HasSubstr("map 50%"))));
  EXPECT_THAT(narrow, Not(Contains(HasSubstr("LIKELY")))) << "nothing is known";
  const std::vector<std::string> wide = Texts(Draw(Small(), {}, {200, 24}, kNow));
  EXPECT_THAT(wide, Contains(AllOf(StartsWith("7 "), HasSubstr("map 50%"), HasSubstr("1 min 5 s"), HasSubstr("ann"),
                                   HasSubstr("etl"), HasSubstr("count the words"))));
  EXPECT_THAT(wide, Contains(AllOf(StartsWith("8 "), HasSubstr("waiting"), HasSubstr("its pool has its share"))));
}

TEST(TopScreenTest, WhenAJobIsDoneIsToldAt80Columns) {
  Picture picture = Small();
  picture.jobs[0].job = JobId{12345};
  picture.jobs[0].first_launch = kNow - (11 * kHour + 59 * kMinute);
  picture.jobs[0].name = picture.jobs[1].name = std::string(30, 'n');
  picture.jobs[1].reason = "waits for job12345 to succeed";
  job::Foretold& said = picture.foretold.emplace_back();
  said.job = JobId{12345};
  said.made = kNow;
  said.end.at = kNow + 3600 * kSecond;
  said.end.records = 20;
  said.end.intervals = {{90, kNow + 3000 * kSecond, kNow + 4000 * kSecond}};
  const std::vector<std::string> narrow = Texts(Draw(picture, {}, {80, 24}, kNow));
  EXPECT_THAT(narrow, Contains(AllOf(StartsWith("JOB"), HasSubstr("LIKELY (UTC)"), HasSubstr("WHY IT WAITS"),
                                     Not(HasSubstr("OWNER")), Not(HasSubstr("SLOTS")))));
  EXPECT_THAT(narrow, Contains(AllOf(StartsWith("12345 "), HasSubstr("[===>  ]"), HasSubstr(" done 09:00  "))));
  EXPECT_THAT(narrow, Contains(AllOf(StartsWith("8 "), HasSubstr("waits for"))));
  EXPECT_THAT(Texts(Draw(picture, {}, {120, 24}, kNow)), Contains(HasSubstr("done 09:00 (08:50-09:06)")));
}

TEST(TopScreenTest, JobsThatAreHeldAreCountedApart) {
  Picture picture = Small();
  picture.jobs[1].held = true;
  picture.cluster.jobs_waiting = 4;
  picture.cluster.jobs_held = 1;
  picture.cluster.jobs_after = 2;
  const std::vector<std::string> lines = Texts(Draw(picture, {}, {200, 24}, kNow));
  EXPECT_THAT(lines[1], HasSubstr("1 job runs, 4 wait (1 held, 2 for other jobs); "));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("8 "), HasSubstr(" held "))));
}

TEST(TopScreenTest, HowOldThePictureIsAndThatTheMasterIsLate) {
  Picture picture = Small();
  EXPECT_THAT(Texts(Draw(picture, {}, {80, 24}, kNow)), Not(Contains(HasSubstr(" old"))));
  picture.heard = kNow - 900 * kMillisecond;
  EXPECT_THAT(Texts(Draw(picture, {}, {80, 24}, kNow)), Not(Contains(HasSubstr(" old")))) << "it is of now";
  picture.heard = kNow - 3500 * kMillisecond;
  EXPECT_THAT(Texts(Draw(picture, {}, {80, 24}, kNow)), Contains(HasSubstr("q quit  3 s old")));
  EXPECT_THAT(Texts(Draw(picture, {}, {80, 24}, kNow)), Not(Contains(HasSubstr("answered"))));
  picture.awaits = kNow - 1200 * kMillisecond;
  EXPECT_THAT(Draw(picture, {}, {80, 24}, kNow),
              Contains(Line{"The master has not answered for 1 s; below is what it said 3 s ago", Style::kReverse}));
}

TEST(TopScreenTest, PoolsNodesAndTheTasksOfAJob) {
  State state;
  state.view = View::kPools;
  EXPECT_THAT(Texts(Draw(Small(), state, {120, 24}, kNow)),
              Contains(AllOf(StartsWith("etl"), HasSubstr("4 of 8"), HasSubstr("50"))));
  state.view = View::kNodes;
  EXPECT_THAT(Texts(Draw(Small(), state, {120, 24}, kNow)),
              Contains(AllOf(StartsWith("3 "), HasSubstr("three"), HasSubstr("2 of 4"), HasSubstr("250 B"))));
  Picture picture = Small();
  state.view = View::kTasks;
  state.opened = JobId{7};
  picture.opened = Picture::Opened{picture.jobs[0], {}, ""};
  for (std::uint32_t i = 0; i < 3; ++i) {
    AttemptStatus attempt;
    attempt.attempt = AttemptId{TaskId{JobId{7}, TaskKind::kMap, i}, 0};
    attempt.launched = kNow - (i == 1 ? 50 : 10) * kSecond;
    attempt.state = i == 1 ? AttemptState::kRunning : AttemptState::kSucceeded;
    attempt.ended = i == 1 ? 0 : kNow;
    picture.opened->attempts.push_back(attempt);
  }
  const std::vector<std::string> tasks = Texts(Draw(picture, state, {80, 24}, kNow));
  const auto head = std::ranges::find_if(tasks, [](const std::string& line) { return line.starts_with("ATTEMPT"); });
  ASSERT_NE(head, tasks.end());
  EXPECT_THAT(*(head + 1), AllOf(HasSubstr("job7.m.1.0"), HasSubstr("50 s")));  // the slowest is the first
}

TEST(TopScreenTest, ALostMasterIsSaidAndTheLastPictureIsDim) {
  Picture picture = Small();
  picture.lost = Picture::Lost{kNow - 70 * kSecond, "connection refused"};
  const std::vector<Line> lines = Draw(picture, {}, {120, 24}, kNow);
  const std::vector<std::string> texts = Texts(lines);
  std::string all;
  for (const std::string& text : texts) all += text + " ";
  EXPECT_THAT(all, AllOf(HasSubstr("has not answered since 2027-01-15 07:58:50"), HasSubstr("1 min 10 s"),
                         HasSubstr("connection refused")));
  const auto job = std::ranges::find_if(lines, [](const Line& line) { return line.text.starts_with("8 "); });
  ASSERT_NE(job, lines.end());
  EXPECT_EQ(job->style, Style::kDim);
  EXPECT_THAT(Texts(Draw(Small(), {}, {120, 24}, kNow)), Not(Contains(HasSubstr("not answered"))));
}

TEST(TopScreenTest, FaultsComeBeforeRisksAndTheOthersAreCounted) {
  Picture picture = Small();
  picture.cluster.warnings = {{"a", "warning", "warned"}, {"b", "risk", "risky"}};
  EXPECT_THAT(Texts(Draw(picture, {}, {120, 24}, kNow)),
              Contains(AllOf(HasSubstr("RISK: risky"), HasSubstr("1 more"))));
  picture.cluster.faults = {{"c", "fault", "3 blocks are missing"}};
  EXPECT_THAT(Texts(Draw(picture, {}, {120, 24}, kNow)), Contains(HasSubstr("FAULT: 3 blocks are missing")));
}

// Whatever names, reasons and sizes: the lines fit, and no control character gets to the terminal but those of Paint.
TEST(TopScreenTest, NothingHostileReachesTheTerminal) {
  const std::vector<std::string> pieces = {"\x1b[2J",
                                           "\x1b]0;title\x07",
                                           "\r\n",
                                           std::string("\0", 1),
                                           "\xff\xfe",
                                           "\xe2\x80\xae",
                                           "plain",
                                           " ",
                                           "\xe4\xb8\xad\xe6\x96\x87",
                                           "\xc2\x9b"
                                           "31m",
                                           "e\xcc\x81",
                                           "\t",
                                           "\x7f",
                                           "a long word that goes on and on and on"};
  for (unsigned seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto text = [&] {
      std::string made;
      for (unsigned n = random() % 8; n > 0; --n) made += pieces[random() % pieces.size()];
      return made;
    };
    Picture picture = Small();
    picture.master = text();
    picture.cluster.scheduler = text();
    picture.cluster.faults = {{text(), text(), text()}};
    for (JobStatus& job : picture.jobs) {
      job.name = text();
      job.owner = text();
      job.pool = text();
      job.reason = text();
    }
    picture.scheduler.group_noun = text();
    picture.scheduler.groups[0].name = text();
    picture.scheduler.waits[0].reason = text();
    picture.nodes[0].name = text();
    picture.nodes[0].host = text();
    picture.nodes[0].reason = text();
    picture.nodes[0].rack = text();
    AttemptStatus attempt;
    attempt.host = text();
    attempt.reason = text();
    picture.opened = Picture::Opened{picture.jobs[0], {attempt}, random() % 2 == 0 ? "" : text()};
    if (random() % 3 == 0) picture.lost = Picture::Lost{kNow - 5, text()};
    State state;
    state.view = static_cast<View>(random() % kViews);
    state.opened = picture.jobs[0].job;
    state.help = random() % 8 == 0;
    for (Order& order : state.order) order = {random() % 12, random() % 2 == 0, random() % 30};
    const Size size{20 + random() % 181, 1 + random() % 60};
    const std::vector<Line> lines = Draw(picture, state, size, kNow);
    ASSERT_LE(lines.size(), size.rows);
    for (const Line& line : lines) {
      ASSERT_LE(console::PlacesOf(line.text), size.columns) << line.text;
      for (const char c : line.text) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << line.text;
      ASSERT_EQ(line.text.find("\xc2\x9b"), std::string::npos);
      ASSERT_EQ(line.text.find("\xe2\x80\xae"), std::string::npos);
    }
    for (const char c : Whole(picture, size.columns)) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  }
}

TEST(TopScreenTest, TenThousandTasksFillOnePageOnly) {
  Picture picture = Small();
  picture.opened = Picture::Opened{picture.jobs[0], {}, ""};
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    AttemptStatus attempt;
    attempt.attempt = AttemptId{TaskId{JobId{7}, TaskKind::kMap, i}, 0};
    attempt.launched = kNow - (i * 7919 % 10'000) * kSecond;
    picture.opened->attempts.push_back(attempt);
  }
  State state;
  state.view = View::kTasks;
  state.opened = JobId{7};
  std::vector<Line> lines = Draw(picture, state, {80, 24}, kNow);
  EXPECT_EQ(lines.size(), 24U);
  EXPECT_LT(Paint(lines, {80, 24}).size(), 24U * 120);
  const auto head = std::ranges::find_if(lines, [](const Line& line) { return line.text.starts_with("ATTEMPT"); });
  EXPECT_THAT((head + 1)->text, HasSubstr("2 h 46 min"));
  state.here().at = 9'999;
  lines = Draw(picture, state, {80, 24}, kNow);
  EXPECT_THAT(Texts(lines), Contains(HasSubstr("job7.m.0.0")));  // the quickest is the last
}

TEST(TopScreenTest, OnceHasAllTables) {
  const std::string text = Whole(Small(), 80);
  EXPECT_THAT(text, AllOf(HasSubstr("\nJOB "), HasSubstr("\nPOOL "), HasSubstr("\nNODE "), HasSubstr("\n3 "),
                          Not(HasSubstr("\x1b"))));
}

TEST(TopScreenTest, PaintPlacesEachLineAndClearsTheRest) {
  EXPECT_EQ(Paint({{"a", Style::kPlain}, {"b", Style::kReverse}}, {80, 24}),
            "\x1b[1;1H\x1b[0ma\x1b[0m\x1b[K\x1b[2;1H\x1b[0m\x1b[7mb\x1b[0m\x1b[K\x1b[3;1H\x1b[J");
  EXPECT_THAT(Paint({{"a", Style::kPlain}}, {80, 1}), Not(HasSubstr("\x1b[J")));
}

}  // namespace
}  // namespace millrace::top
