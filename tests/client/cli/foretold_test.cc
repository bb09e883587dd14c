// SPDX-License-Identifier: Apache-2.0
// When a job will probably start and end, on one line of a terminal.
#include "client/cli/foretold.h"

#include <gtest/gtest.h>

#include <string>

#include "base/console/table.h"

namespace millrace::cli {
namespace {

constexpr Micros kNoon = 1'790'000'000 * kSecond / kHour / 24 * kHour * 24 + 12 * kHour;
constexpr JobId kJob{7};

job::ForetoldTime At(Micros at) {
  job::ForetoldTime time;
  time.at = at;
  time.records = 30;
  time.intervals = {{90, at - 10 * kMinute, at + 10 * kMinute}};
  return time;
}

job::Foretold Said() { return {kJob, kNoon, At(kNoon + kHour), At(kNoon + 2 * kHour)}; }

TEST(WaitingLine, LeavesOutIntervalsAndThenTheReasonBeforeItIsCut) {
  const job::Foretold said = Said();
  const std::string whole =
      "job7 waits for a slot; likely starts 13:00 (12:50 to 13:10); likely done 14:00 (13:50 to 14:10) (UTC)";
  const std::string brief = "job7 waits for a slot; likely starts 13:00, done 14:00 (UTC)";
  const std::string least = "job7: likely starts 13:00, done 14:00 (UTC)";
  EXPECT_EQ(WaitingLine(kJob, "waits for a slot", &said, whole.size()), whole);
  EXPECT_EQ(WaitingLine(kJob, "waits for a slot", &said, whole.size() - 1), brief);
  EXPECT_EQ(WaitingLine(kJob, "waits for a slot", &said, brief.size()), brief);
  EXPECT_EQ(WaitingLine(kJob, "waits for a slot", &said, brief.size() - 1), least);
  EXPECT_EQ(WaitingLine(kJob, "waits for a slot", &said, 10), least);
  EXPECT_EQ(WaitingLine(kJob, "waits for a slot", nullptr, 10), "job7 waits for a slot");
}

TEST(WaitingLine, SaysWhatIsKnown) {
  job::Foretold said = Said();
  said.end = {};
  said.end.why = "nobody knows how long its tasks take";
  EXPECT_EQ(WaitingLine(kJob, "waits", &said, 200),
            "job7 waits; likely starts 13:00 (12:50 to 13:10); its end is unknown: nobody knows how long its tasks "
            "take (UTC)");
  EXPECT_EQ(WaitingLine(kJob, "waits", &said, 60), "job7 waits; likely starts 13:00 (UTC)");
}

}  // namespace
}  // namespace millrace::cli
