// SPDX-License-Identifier: Apache-2.0
#include "lab/usage/usage.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

#include "base/random.h"
#include "lab/usage/usage_command.h"
#include "lab/usage/usage_text.h"

namespace millrace::usage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr Micros kDay = Micros{24} * 3600 * kSecond;

std::vector<AttemptUse> UsesOf(const std::string& journal) {
  Result<std::vector<AttemptUse>> uses = ReadAttemptUses(journal, "journal");
  EXPECT_TRUE(uses.ok()) << uses.status().message();
  return uses.ok() ? *uses : std::vector<AttemptUse>();
}

// Every way in which an attempt ends, each with its time.
TEST(AttemptUsesTest, AttemptsEndAsTheJournalSays) {
  const std::vector<AttemptUse> uses = UsesOf(R"(0 NodeJoined node=n1 maps=9 reduces=9
0 NodeJoined node=n2 maps=9 reduces=9
1 JobSubmitted job=job1 maps=1:;1:;1: reduces=1
10 AttemptLaunched attempt=job1.m.0.0 node=n1
11 AttemptLaunched attempt=job1.m.1.0 node=n1
12 AttemptLaunched attempt=job1.m.2.0 node=n2
13 AttemptLaunched attempt=job1.m.0.1 node=n2
20 AttemptSucceeded attempt=job1.m.0.1
21 AttemptFailed attempt=job1.m.1.0 reason=why
22 AttemptLaunched attempt=job1.m.1.1 node=n2
23 NodeLost node=n2
30 AttemptLaunched attempt=job1.r.0.0 node=n1
35 ReduceCopied attempt=job1.r.0.0
37 ComputeGranted attempt=job1.r.0.0
40 AttemptLaunched attempt=job1.m.1.2 node=n1
41 AttemptPreempted attempt=job1.m.1.2 reason=share
42 AttemptLost attempt=job1.m.2.0 reason=late
45 AttemptLaunched attempt=job1.m.2.1 node=n1
50 JobKilled job=job1 reason=enough
60 JobSubmitted job=job2 maps=1:
61 AttemptLaunched attempt=job2.m.0.0 node=n1
)");
  std::vector<std::string> told;
  for (const AttemptUse& use : uses) {
    told.push_back(ToText(use.attempt) + " " + std::to_string(use.launched) + " " + std::to_string(use.computing) +
                   " " + std::to_string(use.ended) + " " + std::to_string(static_cast<int>(use.end)));
  }
  EXPECT_THAT(told, ElementsAre("job1.m.0.0 10 0 20 6",   // its twin was first
                                "job1.m.1.0 11 0 21 2",   // failed
                                "job1.m.2.0 12 0 23 4",   // lost with its node
                                "job1.m.0.1 13 0 20 1",   // succeeded
                                "job1.m.1.1 22 0 23 4",   // lost
                                "job1.r.0.0 30 37 50 3",  // killed with its job
                                "job1.m.1.2 40 0 41 5",   // preempted
                                "job1.m.2.1 45 0 50 3", "job2.m.0.0 61 0 0 0"));
}

JobStatus Job(std::uint32_t number, const std::string& owner, Micros queued, Micros launched, Micros ended,
              JobState state) {
  JobStatus job;
  job.job = JobId{number};
  job.name = "name" + owner;
  job.owner = owner;
  job.pool = "pool";
  job.state = state;
  job.submitted = job.queued = queued;
  job.first_launch = launched;
  job.ended = ended;
  job.bytes_read = number;
  return job;
}

TEST(UsageTest, TimeCountsWhenItIsSpentAndAJobWhenItEnds) {
  const std::vector<JobStatus> jobs = {Job(1, "ann", kDay - 100, kDay - 50, kDay + 50, JobState::kSucceeded),
                                       Job(2, "bob", kDay, 0, 0, JobState::kWaiting)};
  const AttemptId map{{JobId{1}, TaskKind::kMap, 0}, 0}, reduce{{JobId{1}, TaskKind::kReduce, 0}, 0};
  const std::vector<AttemptUse> uses = {{map, kDay - 50, 0, kDay + 10, UseEnd::kFailed},
                                        {reduce, kDay + 10, kDay + 20, kDay + 50, UseEnd::kSucceeded}};
  const std::vector<UsageRow> days = SumUsage(jobs, uses, UsageBy::kDay, {0, kDay + 1000});
  ASSERT_THAT(days, SizeIs(2));
  EXPECT_EQ(days[0].key, "1970-01-01");
  EXPECT_EQ(days[0].map, 50);
  EXPECT_EQ(days[0].jobs(), 0u);
  EXPECT_EQ(days[1].key, "1970-01-02");
  EXPECT_EQ(days[1].map, 10);
  EXPECT_EQ(days[1].copy, 10);
  EXPECT_EQ(days[1].compute, 30);
  EXPECT_EQ(days[1].wasted[0], 10);
  EXPECT_EQ(days[1].succeeded, 1u);
  EXPECT_EQ(days[1].live, 1u);
  EXPECT_EQ(days[1].waited, 50 + 1000);
  EXPECT_THAT(SumUsage(jobs, uses, UsageBy::kUser, {0, kDay - 200}), SizeIs(0));
  const std::vector<UsageRow> past = SumUsage(jobs, uses, UsageBy::kUser, {0, kDay + 900, false});
  ASSERT_THAT(past, SizeIs(1)) << "Bob's job has not ended";
  EXPECT_EQ(past[0].key, "ann");
}

bool Same(const UsageRow& a, const UsageRow& b, bool jobs_too) {
  const bool times = a.map == b.map && a.copy == b.copy && a.compute == b.compute && a.wasted == b.wasted;
  return times && (!jobs_too || (a.jobs() == b.jobs() && a.bytes_read == b.bytes_read && a.waited == b.waited));
}

// Of the same jobs all groupings have the same sum, which is that of a plain loop; and two periods that meet have the
// sum of the whole.
TEST(UsageTest, EveryGroupingHasTheSameSum) {
  const char* const given = std::getenv("MILLRACE_TEST_SEEDS");
  const int rounds = given == nullptr ? 50 : std::atoi(given);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const std::uint64_t seed = SeedFromSystem();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto time = [&](Micros from) { return from + static_cast<Micros>(random.Below(3 * kDay)); };
    std::vector<JobStatus> jobs;
    std::vector<AttemptUse> uses;
    Micros maps = 0;
    const Micros now = 20 * kDay;
    for (std::uint32_t number = 1; number <= 10; ++number) {
      const Micros queued = 1 + time(0), launched = time(queued), ended = time(launched);
      const auto state = static_cast<JobState>(1 + random.Below(4));
      jobs.push_back(
          Job(number, "user" + std::to_string(random.Below(3)), queued, launched, Ended(state) ? ended : 0, state));
      for (std::uint32_t i = 0; i < 5; ++i) {
        const Micros begin = time(launched), computing = time(begin), end = time(computing);
        const bool reduce = random.Below(2) == 0;
        const AttemptId attempt{{JobId{number}, reduce ? TaskKind::kReduce : TaskKind::kMap, i}, 0};
        const auto how = static_cast<UseEnd>(1 + random.Below(6));
        uses.push_back({attempt, begin, reduce ? computing : 0, end, how});
        if (!reduce) maps += end - begin;
      }
    }
    const UsageRow whole = TotalOf(SumUsage(jobs, uses, UsageBy::kUser, {0, now}), "");
    EXPECT_EQ(whole.map, maps);
    EXPECT_EQ(whole.jobs(), 10u);
    for (const UsageBy by : {UsageBy::kPool, UsageBy::kDay, UsageBy::kJobName})
      EXPECT_TRUE(Same(TotalOf(SumUsage(jobs, uses, by, {0, now}), ""), whole, true)) << static_cast<int>(by);
    const Micros middle = static_cast<Micros>(random.Below(10 * kDay)) + 1;
    UsageRow both = TotalOf(SumUsage(jobs, uses, UsageBy::kDay, {0, middle}), "");
    both.Add(TotalOf(SumUsage(jobs, uses, UsageBy::kUser, {middle, now}), ""));
    EXPECT_TRUE(Same(both, whole, false));
  }
}

TEST(UsageTest, AMomentIsATimeAgoOrADayOrMinuteOfUtc) {
  const Micros now = 100 * kDay;
  EXPECT_EQ(*ParseMoment("7d", now), 93 * kDay);
  EXPECT_EQ(*ParseMoment("12h", now), now - kDay / 2);
  EXPECT_EQ(*ParseMoment("2w", now), 86 * kDay);
  EXPECT_EQ(*ParseMoment("1970-02-01", now), 31 * kDay);
  EXPECT_EQ(*ParseMoment("1970-01-02T12:30", now), kDay + Micros{750} * 60 * kSecond);
  EXPECT_EQ(*ParseMoment("2026-11-21", now), Micros{1795219200} * kSecond);
  for (const char* wrong : {"", "d", "soon", "-1d", "101d", "1970-02-30", "1970-13-01", "1970-1-1", "1970-01-02T24:00",
                            "1970-01-02 12:30", "1970-01-02T12:3x", "1e30d"})
    EXPECT_FALSE(ParseMoment(wrong, now).ok()) << wrong;
}

TEST(UsageTest, TheLineBelowTheTableSaysSinceWhenAllIsKnown) {
  UsageReport report;
  report.period = {2 * kDay, 3 * kDay};
  report.known_since = kDay;
  EXPECT_EQ(PeriodLine(report), "from 1970-01-03 00:00:00 to 1970-01-04 00:00:00 UTC");
  report.period.since = 0;
  EXPECT_EQ(PeriodLine(report),
            "from the beginning to 1970-01-04 00:00:00 UTC; all is known since 1970-01-02 00:00:00; the journal begins "
            "then");
  report.forgotten = 7;
  EXPECT_THAT(PeriodLine(report), HasSubstr("; jobs that ended before, up to job7, are no longer remembered"));
}

// Columns give way in a narrow terminal, and no line is wider than it.
TEST(UsageTest, TheTableFitsTheTerminal) {
  UsageReport report;
  report.rows.resize(2);
  report.rows[0].key = std::string(60, 'n');
  report.rows[1].key = "ann";
  report.rows[1].succeeded = 1234;
  report.rows[1].map = report.rows[1].copy = report.rows[1].compute = 100 * kDay;
  report.rows[1].wasted[0] = kDay;
  report.rows[1].bytes_read = report.rows[1].bytes_shuffled = report.rows[1].bytes_written = std::uint64_t{1} << 44;
  report.total = TotalOf(report.rows, "total");
  for (const std::size_t width : {80U, 120U, 200U}) {
    const std::string table = UsageTable(report, width);
    std::size_t begin = 0, widest = 0, lines = 0;
    for (std::size_t end = 0; (end = table.find('\n', begin)) != std::string::npos; begin = end + 1, ++lines)
      widest = std::max(widest, end - begin);
    EXPECT_LE(widest, width) << table;
    EXPECT_EQ(lines, 4u) << table;
    for (const char* always : {"USER", "JOBS", "SLOT TIME"}) EXPECT_THAT(table, HasSubstr(always)) << width;
    EXPECT_EQ(table.find("SHUFFLED") == std::string::npos, width < 200) << table;
  }
}

TEST(UsageTest, CsvKeepsNamesAsTheyAre) {
  UsageReport report;
  report.by = UsageBy::kJobName;
  report.rows.resize(1);
  report.rows[0].key = "a \"b\",\nc";
  report.rows[0].map = 1'500'000;
  report.total = TotalOf(report.rows, "total");
  const std::string csv = UsageCsv(report, false);
  EXPECT_THAT(csv, HasSubstr("job-name,jobs,succeeded"));
  EXPECT_THAT(csv, HasSubstr("\n\"a \"\"b\"\",\nc\",0,0,0,0,0,0,1.5,1.5,"));
  EXPECT_THAT(csv, HasSubstr("\n\"total\",0"));
}

TEST(UsageTest, CsvOnATerminalHasNoControlCharacters) {
  UsageReport report;
  report.by = UsageBy::kJobName;
  report.rows.resize(1);
  report.rows[0].key = "\x1b]0;title\a\n\"\x9b";
  const std::string piped = UsageCsv(report, false), shown = UsageCsv(report, true);
  EXPECT_THAT(piped, HasSubstr("\n\"\x1b]0;title\a\n\"\"\x9b\",0,"));
  EXPECT_THAT(shown, HasSubstr("\n\"\\x1b]0;title\\x07\\n\"\"\\x9b\",0,"));
  EXPECT_EQ(
      std::ranges::count_if(shown, [](char c) { return c != '\n' && std::iscntrl(static_cast<unsigned char>(c)); }), 0);
}

}  // namespace
}  // namespace millrace::usage
