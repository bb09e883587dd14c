// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>

#include "client/cli/commands.h"

namespace millrace::cli {
namespace {

TEST(SchedulerTextTest, ShowsPoolsAndWhyJobsWait) {
  using View = job::SchedulerView;
  View view;
  view.name = "fair+delay";
  view.file = "/etc/scheduler.toml";
  view.file_problem = "scheduler.toml:4: pools.ads.weight: -1 is not above 0";
  view.now = 1'000'000;
  view.facts = {{"map slots", "8", 8, ""}, {"delay.rack_wait", "5 s", 5, "s"}, {"delay.mode", "fixed", {}, ""}};
  view.group_noun = "queue";
  view.groups = {{"ads", 2, 1, {3, 9, 5.25, 2, 6, 4'000'000}, {0, 1, 1, 0, {}, {}}}};
  view.deadlines = {{7, 61'000'000, -2'000'000}};
  View::Wait& wait = view.waits.emplace_back();
  wait.job = JobId{7};
  wait.name = "grep";
  wait.pool = "ads";
  wait.slot = "map";
  wait.pending = 6;
  wait.running = 3;
  wait.reason = "waits for a slot at its data, 3.2 s of 5 s; the free ones are farther";
  view.more_waits = 2;
  EXPECT_EQ(
      SchedulerText(view),
      "fair+delay\n"
      "scheduler file   /etc/scheduler.toml\n"
      "refused          scheduler.toml:4: pools.ads.weight: -1 is not above 0\n"
      "map slots        8\n"
      "delay.rack_wait  5 s\n"
      "delay.mode       fixed\n"
      "\n"
      "QUEUE  WEIGHT  JOBS  KIND    RUNNING  DEMAND  SHARE  MINIMUM  MAXIMUM  PREEMPTS IN\n"
      "ads    2       1     map     3        9       5.2    2        6        3 s\n"
      "                     reduce  0        1       1      0        -        -\n"
      "\n"
      "JOB   DEADLINE IN  SLACK\n"
      "job7  1 min        -2 s\n"
      "\n"
      "JOB   NAME  POOL  WAITS FOR  HAS  WANTS  WHY\n"
      "job7  grep  ads   map slots  3    6      waits for a slot at its data, 3.2 s of 5 s; the free ones are farther\n"
      "and 2 more\n");
}

TEST(SchedulerTextTest, TablesFitTheWidth) {
  job::SchedulerView view;
  view.name = "fair";
  view.group_noun = "pool";
  view.groups = {{std::string(60, 'p'), 2, 1, {3, 9, 5.25, 2, 6, 4'000'000}, {0, 1, 1, 0, {}, {}}}};
  job::SchedulerView::Wait& wait = view.waits.emplace_back();
  wait.job = JobId{7};
  wait.name = std::string(60, 'n');
  wait.pool = std::string(60, 'p');
  wait.slot = "map";
  wait.reason = "waits for a slot at its data, " + std::string(60, 'w');
  for (const std::size_t width : {80u, 120u, 200u}) {
    std::istringstream lines(SchedulerText(view, width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
    EXPECT_NE(SchedulerText(view, width).find("WHY"), std::string::npos);
    EXPECT_NE(SchedulerText(view, width).find("waits for a slot at its data"), std::string::npos);
  }
  EXPECT_NE(SchedulerText(view).find(std::string(60, 'w')), std::string::npos) << "a pipe gets all of it";
}

TEST(SchedulerTextTest, ANameAloneIsEnough) {
  job::SchedulerView view;
  view.name = "fifo";
  EXPECT_EQ(SchedulerText(view), "fifo\n");
}

TEST(SchedulerTextTest, SaysWhatDecidingHasCost) {
  job::SchedulerView view;
  view.name = "fifo";
  view.cost = {1'200'000'000, 40'000, 3'400'000};  // 1.2 s for 40,000 events: 30 us each
  EXPECT_EQ(SchedulerText(view),
            "fifo\n"
            "deciding  30 us an event, 1.2 s in all; the master has used 3.4 s of processors\n");
}

}  // namespace
}  // namespace millrace::cli
