// SPDX-License-Identifier: Apache-2.0
#include "lab/command/runs_progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace millrace::compare {
namespace {

class RunsProgressTest : public ::testing::Test {
 protected:
  // Makes one run of ten seconds, disturbed or not, as MakeRuns would.
  void Make(std::uint32_t scheduler, std::uint32_t again, bool disturbed) {
    RunRecord record;
    record.run.scheduler = scheduler;
    record.run.again = again;
    if (disturbed) record.outcome.disturbed = "94% of the processors were used by others";
    progress_.Begun(record.run, false);
    now_ += 10 * kSecond;
    progress_.Ended(record);
  }

  Micros now_ = 1000 * kSecond;
  TempDir directory_ = TempDir::Make("progress-test-").value();
  Fd none_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  Design design_ = [] {
    Design design;
    design.schedulers = 2;
    design.blocks = 4;
    design.same_against_same = false;
    return design;
  }();
  RunStore store_ = RunStore::Open(directory_.path(), {}, design_, 1, false).value();
  RunsProgress progress_{
      {.in = none_.get(), .out = none_.get(), .err = none_.get()}, {"fifo", "fair"}, [this] { return now_; }};
};

TEST_F(RunsProgressTest, RunsThatAreMadeAgainCountInTheTimeLeft) {
  progress_.Start(design_, store_);
  Make(0, 0, false);
  EXPECT_EQ(progress_.LineOf(0), "fifo: 1 of 4 runs; 1 min 10 s left in all") << "seven runs of ten seconds";
  Make(1, 0, true);
  Make(1, 1, true);
  EXPECT_EQ(progress_.LineOf(1), "fair: 0 of 4 runs; 2 min 30 s left in all")
      << "half a minute for one run so far; those of fair, of which none is done, are taken to last as long";
  Make(1, 2, false);
  EXPECT_EQ(progress_.LineOf(1), "fair: 1 of 4 runs; 2 min left in all") << "three of ten seconds and three of thirty";
}

TEST_F(RunsProgressTest, AMachineIsTooBusyAfterThreeDisturbedRunsInARow) {
  progress_.Start(design_, store_);
  Make(0, 0, true);
  Make(0, 1, true);
  EXPECT_FALSE(progress_.TooBusy());
  Make(0, 2, false);
  Make(1, 0, true);
  Make(1, 1, true);
  EXPECT_FALSE(progress_.TooBusy()) << "one between them was not disturbed";
  Make(1, 2, true);
  EXPECT_TRUE(progress_.TooBusy());
  EXPECT_EQ(progress_.disturbance(), "94% of the processors were used by others");
}

}  // namespace
}  // namespace millrace::compare
