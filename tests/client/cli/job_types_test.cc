#include "client/job_client/job_types.h"

#include <gtest/gtest.h>

namespace millrace::job {
namespace {

TEST(JobTypesTest, JobsAreNumbersOrNamesOfNumbers) {
  EXPECT_EQ(ParseJob("3").value(), 3u);
  EXPECT_EQ(ParseJob("job3").value(), 3u);
  EXPECT_EQ(ParseJob("4294967295").value(), 4294967295u);
  for (const char* wrong : {"", "job", "-1", "3x", " 3", "4294967296", "jobjob3"})
    EXPECT_FALSE(ParseJob(wrong).ok()) << wrong;
}

TEST(JobTypesTest, AttemptsRoundTrip) {
  for (const Attempt& attempt : {Attempt{3, false, 17, 0}, Attempt{4294967295, true, 0, 3}}) {
    EXPECT_EQ(ParseAttempt(FormatAttempt(attempt)).value(), attempt);
  }
  EXPECT_EQ(FormatAttempt({3, false, 17, 2}), "job3.m.17.2");
  for (const char* wrong :
       {"", "job3", "job3.m.17", "job3.x.17.0", "3.m.17.0", "job3.m..0", "job3.m.1.0.0", "job3.m.1.-1"}) {
    EXPECT_FALSE(ParseAttempt(wrong).ok()) << wrong;
  }
}

TEST(JobTypesTest, PrioritiesRoundTrip) {
  for (std::uint8_t priority = 0; priority < 5; ++priority)
    EXPECT_EQ(ParsePriority(PriorityName(priority)).value(), priority);
  EXPECT_EQ(ParsePriority("VERY_HIGH").value(), 0);
  for (const char* wrong : {"", "normal", "5", "VERY"}) EXPECT_FALSE(ParsePriority(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace millrace::job
