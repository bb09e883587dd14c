// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/external/conduct.h"

#include <gtest/gtest.h>

namespace millrace::sched {
namespace {

TEST(ConductTest, CountsTheFaultsOfAMinute) {
  OutsideTerms terms;
  terms.tolerate = 3;
  Conduct conduct;
  OutsideCounts counts;
  counts.refused = 2;
  EXPECT_EQ(conduct.Judge(terms, counts, 0), "");
  counts.missed = 1;
  EXPECT_EQ(conduct.Judge(terms, counts, 50 * kSecond), "");
  EXPECT_EQ(conduct.Judge(terms, counts, 59 * kSecond), "");  // nothing new
  counts.refused = 4;
  EXPECT_EQ(conduct.Judge(terms, counts, 60 * kSecond), "");  // the first two are a minute old: 1 + 2
  counts.missed = 2;
  EXPECT_EQ(conduct.Judge(terms, counts, 61 * kSecond),
            "within a minute 2 parts of its answers were refused and 2 limits missed; external.tolerate is 3");
}

TEST(ConductTest, WithZeroToleratesNothing) {
  OutsideTerms terms;
  terms.tolerate = 0;
  Conduct conduct;
  OutsideCounts counts;
  EXPECT_EQ(conduct.Judge(terms, counts, 0), "");
  counts.refused = 1;
  EXPECT_NE(conduct.Judge(terms, counts, 1), "");
}

}  // namespace
}  // namespace millrace::sched
