// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/job_types.h"

#include <gtest/gtest.h>

namespace millrace::job {
namespace {

TEST(JobTypesTest, JobsAreNumbersOrNamesOfNumbers) {
  EXPECT_EQ(ParseJobArgument("3").value(), JobId{3});
  EXPECT_EQ(ParseJobArgument("job3").value(), JobId{3});
  EXPECT_EQ(ParseJobArgument("4294967295").value(), JobId{4294967295});
  for (const char* wrong : {"", "job", "-1", "3x", " 3", "4294967296", "jobjob3", "job 3", "job3.m.0"})
    EXPECT_FALSE(ParseJobArgument(wrong).ok()) << wrong;
}

TEST(JobTypesTest, AnAttemptThatIsNoneIsRefusedWithAnExample) {
  EXPECT_EQ(ParseAttemptArgument("job3.m.17.2").value(), MapAttemptId(JobId{3}, 17, 2));
  const Status refused = ParseAttemptArgument("3.m.17.0").status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalid);
  EXPECT_NE(refused.message().find("job3.m.17.0"), std::string::npos) << refused.message();
}

TEST(JobTypesTest, PrioritiesRoundTrip) {
  for (std::uint8_t priority = 0; priority < 5; ++priority)
    EXPECT_EQ(ParsePriority(PriorityName(priority)).value(), priority);
  EXPECT_EQ(ParsePriority("VERY_HIGH").value(), 0);
  EXPECT_EQ(ParsePriority("low").value(), ParsePriority("LOW").value());
  for (const char* wrong : {"", "normally", "5", "VERY"}) EXPECT_FALSE(ParsePriority(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace millrace::job
