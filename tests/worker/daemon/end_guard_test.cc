// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/end_guard.h"

#include <gtest/gtest.h>

#include <future>

namespace millrace::worker {
namespace {

TEST(EndGuardTest, WhoeverEndsInTimeIsLeftAlone) {
  bool late = false;
  {
    const EndGuard guard(std::chrono::hours(1), [&] { late = true; });
  }
  EXPECT_FALSE(late);
}

TEST(EndGuardTest, WhoeverDoesNotIsEnded) {
  std::promise<void> late;
  const EndGuard guard(std::chrono::milliseconds(1), [&] { late.set_value(); });
  late.get_future().wait();
}

}  // namespace
}  // namespace millrace::worker
