// SPDX-License-Identifier: Apache-2.0
#include "base/daemon/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace millrace::daemon {
namespace {

TEST(ThreadsTest, AFewAreThere) { EXPECT_TRUE(CheckThreads(4).ok()); }

TEST(ThreadsTest, WhereTooFewAreGivenTheirNumberAndTheLimitsAreTold) {
  const pid_t child = ::fork();
  if (child == 0) {
    // The limit counts all processes of a user, and none of root's.
    const rlimit none{1, 1};
    if (::geteuid() == 0 && ::setuid(61'235) != 0) ::_exit(2);
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(3);
    const Status checked = CheckThreads(8);
    ::_exit(checked.code() == StatusCode::kBusy &&
                    checked.message().find("only 0 more threads, and 8 are needed") != std::string::npos
                ? 0
                : 4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace millrace::daemon
