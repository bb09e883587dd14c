// SPDX-License-Identifier: Apache-2.0
#include "client/process/processor_meter.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace millrace {
namespace {

constexpr Micros kWork = 100 * kMillisecond, kTick = 10 * kMillisecond;

// Works until this process has had so much of a core.
void Work(Micros most) {
  timespec had{};
  do {
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &had);
  } while (Micros{had.tv_sec} * kSecond + Micros{had.tv_nsec} / 1000 < most);
}

// A child that serves several attempts, as that of a streaming job does, is counted where it works, and once.
TEST(ProcessorMeterTest, AChildThatLivesOnCountsInTheAttemptForWhichItWorked) {
  int told[2], orders[2];
  ASSERT_EQ(::pipe(told), 0);
  ASSERT_EQ(::pipe(orders), 0);
  ProcessorMeter meter;
  meter.Begin();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  char byte = 0;
  if (child == 0) {
    Work(kWork);
    (void)!::write(told[1], "x", 1);
    (void)!::read(orders[0], &byte, 1);
    ::_exit(0);
  }
  ASSERT_EQ(::read(told[0], &byte, 1), 1);
  EXPECT_GE(meter.End().cpu, kWork - 2 * kTick);
  meter.Begin();
  ASSERT_EQ(::write(orders[1], "x", 1), 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_LT(meter.End().cpu, kWork / 2) << "what it had before was counted again when it ended";
  for (const int fd : {told[0], told[1], orders[0], orders[1]}) ::close(fd);
}

}  // namespace
}  // namespace millrace
