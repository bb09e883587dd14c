#include "client/cli/scheduler_command.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(SchedulerTextTest, ShowsPoolsAndWhyJobsWait) {
  job::SchedulerView view;
  view.name = "fair+delay";
  view.file = "/etc/scheduler.toml";
  view.file_problem = "scheduler.toml:4: pools.ads.weight: -1 is not above 0";
  view.facts = {{"map slots", "3 of 8"}};
  view.groups = {{"ads", 2, 1, {3, 9, 5.25, 2, 6}, {0, 1, 1, 0, {}}}};
  view.waits = {{7, "grep", "ads", false, 6, 3, "waiting for a local slot since 3.2 s"}};
  view.more_waits = 2;
  EXPECT_EQ(SchedulerText(view),
            "fair+delay\n"
            "scheduler file  /etc/scheduler.toml\n"
            "refused         scheduler.toml:4: pools.ads.weight: -1 is not above 0\n"
            "map slots       3 of 8\n"
            "\n"
            "POOL  WEIGHT  JOBS  KIND    RUNNING  DEMAND  SHARE  MINIMUM  MAXIMUM\n"
            "ads   2       1     map     3        9       5.2    2        6\n"
            "                    reduce  0        1       1      0        -\n"
            "\n"
            "WAITING  NAME  POOL  KIND  RUNNING  PENDING  WHY\n"
            "job 7    grep  ads   map   3        6        waiting for a local slot since 3.2 s\n"
            "and 2 more\n");
}

TEST(SchedulerTextTest, ANameAloneIsEnough) {
  job::SchedulerView view;
  view.name = "fifo";
  EXPECT_EQ(SchedulerText(view), "fifo\n");
}

}  // namespace
}  // namespace millrace::cli
