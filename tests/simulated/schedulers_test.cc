// SPDX-License-Identifier: Apache-2.0
// Every scheduler in a whole cluster under driven time.
#include <gmock/gmock.h>

#include <algorithm>

#include "lab/journal/replay.h"
#include "master/control/cluster_summary.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/simple/edf.h"
#include "tests/simulated/simulated_cluster.h"

namespace millrace {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr const char* kSettings = R"(
[pools.ads]
weight = 2
min_maps = 20
min_share_timeout = "1s"
integral = "relaxed"
flow_maps = 5
flow_reduces = 2
[pools.spam]
max_maps = 30
integral = "burst"
flow_maps = 2
burst_maps = 20
[integral]
debt = "10s"
[memory]
half_life = "30s"
sample = "1s"
[pools.logs]
max_running_jobs_of_user = 2
[fair]
min_share_timeout = "1s"
fair_share_timeout = "3s"
[delay]
rack_wait = "2s"
datacenter_wait = "2s"
off_wait = "2s"
[queues.ads]
capacity = 50
[queues.spam]
capacity = 30
[queues.logs]
capacity = 20
[fresh]
k = 6
)";

struct BatchOptions {
  std::string scheduler;
  std::uint32_t workers = 50, datacenters = 1;
  int jobs = 200;
  bool restarts = false;  // the master, twice while jobs run and once while none does
};

// Does what `millrace sim --replay` does with the journal.
sim::ReplayResult Replayed(const std::vector<std::string>& journal) {
  std::string text;
  for (const std::string& line : journal) (text += line) += '\n';
  const Result<sim::ReplayResult> replayed = sim::ReplayJournal(text, "journal", "", {});
  EXPECT_TRUE(replayed.ok()) << replayed.status().message();
  return replayed.ok() ? *replayed : sim::ReplayResult{};
}

void ExpectSameDecisions(const std::vector<std::string>& journal) {
  const sim::ReplayResult replayed = Replayed(journal);
  EXPECT_EQ(replayed.differs_at, 0u) << replayed.expected << "\nagainst " << replayed.decided;
}

// Jobs of 1 to 40 maps and 0 to 5 reduces in three pools, one every half second or so; all succeed.
std::vector<std::string> RunBatch(std::uint64_t seed, const BatchOptions& batch) {
  SimulatedOptions options;
  options.seed = seed;
  options.workers = batch.workers;
  options.racks = 4 * batch.datacenters;
  options.datacenters = batch.datacenters;
  options.scheduler = batch.scheduler;
  options.settings = kSettings;
  SimulatedCluster cluster(options);
  Random random(seed + 1);
  for (int i = 0; i < 20; ++i)
    cluster.AddFile("/in/" + std::to_string(i), 1 + static_cast<std::uint32_t>(random.Below(40)));
  constexpr const char* kPools[] = {"ads", "spam", "logs"};
  for (int i = 0; i < batch.jobs; ++i) {
    cluster.Submit("/in/" + std::to_string(random.Below(20)), "/out/" + std::to_string(i),
                   static_cast<std::uint32_t>(random.Below(6)), kPools[random.Below(3)]);
    cluster.Advance(random.Unit());
    if (batch.restarts && (i == batch.jobs / 3 || i == batch.jobs * 3 / 4)) cluster.RestartMaster();
    // A quiet time: what was decided before it still counts.
    if (i == batch.jobs / 2) {
      EXPECT_TRUE(cluster.RunUntilIdle(3600));
      if (batch.restarts) cluster.RestartMaster();
    }
  }
  EXPECT_TRUE(cluster.RunUntilIdle(3600)) << "jobs still live after an hour";
  const auto outputs = cluster.Outputs();
  EXPECT_THAT(outputs, SizeIs(batch.jobs));
  EXPECT_THAT(outputs, Each(Pair(::testing::_, JobState::kSucceeded)));
  return cluster.Journal();
}

// All that the catalog has, and combinations of it; not cp, of which the plans depend on time that is not driven, nor
// external, which no master takes.
std::vector<std::string> Expressions() {
  std::vector<std::string> expressions;
  for (const sched::PolicyInfo& policy : sched::ListPolicies()) {
    if (policy.name != "cp" && policy.name != sched::kExternal) expressions.push_back(policy.name);
  }
  for (const char* combined :
       {"fifo+ccs", "integral+delay+ccs+preempt", "fair+memory", "fair+memory+delay+ccs+preempt", "fair+delay",
        "fair+ccs", "fair+delay+ccs+preempt", "dl+delay", "sjf+delay", "capacity+delay", "edf+delay", "mlq+delay",
        "lsap+delay", "lsap-uniform+delay", "lsap-fair+delay", "fresh-static+delay"}) {
    std::string why;
    if (sched::MakePolicy(combined, {}, &why) != nullptr) expressions.emplace_back(combined);
  }
  return expressions;
}

std::ptrdiff_t CountOf(const std::string& kind, const std::vector<std::string>& journal) {
  return std::count_if(journal.begin(), journal.end(),
                       [&](const std::string& line) { return line.find(" " + kind + " ") != std::string::npos; });
}

class EverySchedulerTest : public ::testing::TestWithParam<std::string> {};

TEST_P(EverySchedulerTest, RunsEveryJobAndItsJournalReplaysToTheSameDecisions) {
  const std::vector<std::string> journal = RunBatch(7, {GetParam(), 24, 2, 40});
  const sim::ReplayResult replayed = Replayed(journal);
  EXPECT_EQ(replayed.differs_at, 0u) << replayed.expected << "\nagainst " << replayed.decided;
  EXPECT_GT(replayed.launches, 500u);
}

// Recovery knows less than the master that died: nothing of jobs that had ended, and no clock of a policy.
TEST_P(EverySchedulerTest, AJournalOverRestartsOfTheMasterReplaysToTheSameDecisions) {
  const std::vector<std::string> journal = RunBatch(8, {GetParam(), 24, 2, 40, true});
  EXPECT_EQ(CountOf("SchedulerSet", journal), 4);
  const sim::ReplayResult replayed = Replayed(journal);
  EXPECT_EQ(replayed.differs_at, 0u) << replayed.expected << "\nagainst " << replayed.decided;
  EXPECT_GT(replayed.launches, 500u);
}

INSTANTIATE_TEST_SUITE_P(Catalog, EverySchedulerTest, ::testing::ValuesIn(Expressions()), [](const auto& param) {
  std::string name = param.param;
  for (char& c : name) {
    if (c == '+' || c == '-') c = '_';
  }
  return name;
});

// The whole: 50 workers, 200 jobs, all parts.
TEST(SchedulersTest, FairSharingWithAllPartsOnFiftyWorkersTwiceTheSame) {
  const std::vector<std::string> first = RunBatch(1, {"fair+delay+ccs+preempt"});
  EXPECT_GT(first.size(), 5000u);
  EXPECT_EQ(first, RunBatch(1, {"fair+delay+ccs+preempt"}));
  ExpectSameDecisions(first);
  EXPECT_GT(CountOf("AttemptPreempted", first), 0) << "pools got slots back";
  EXPECT_GT(CountOf("ReduceComputing", first), 50) << "reduces computed where there were permits for all";
  EXPECT_GT(CountOf("ComputeGranted", first), 100) << "others were given one in turn";
}

// LATE: slow attempts get a twin on another node, one of both wins, and the journal replays.
TEST(SchedulersTest, SlowTasksAreDuplicatedAndOneOfBothWins) {
  SimulatedOptions options;
  options.workers = 20;
  options.scheduler = "fair";
  options.settings = "[speculation]\nenabled = true\nmin_runtime = 5\n";
  options.times.slow = 0.05;
  options.times.reports = 9;
  SimulatedCluster cluster(options);
  for (int i = 0; i < 10; ++i) {
    const std::string name = std::to_string(i);
    cluster.AddFile("/in/" + name, 10);
    cluster.Submit("/in/" + name, "/out/" + name, 2);
    cluster.Advance(20);
  }
  ASSERT_TRUE(cluster.RunUntilIdle(3600));
  EXPECT_THAT(cluster.Outputs(), Each(Pair(::testing::_, JobState::kSucceeded)));
  std::uint32_t speculative = 0, killed = 0;
  for (const JobId job : cluster.control().jobs().JobsAfter(JobId{0}, 100, false)) {
    const auto view = cluster.control().jobs().View(job);
    speculative += view->figures.speculative_attempts;
    killed += view->figures.killed_attempts;
  }
  EXPECT_GT(speculative, 0u);
  EXPECT_EQ(killed, speculative) << "of each pair one";
  const std::vector<std::string> journal = cluster.Journal();
  EXPECT_EQ(CountOf("AttemptSucceeded", journal), 10 * (10 + 2));
  EXPECT_GT(CountOf("AttemptProgressed", journal), 100);
  ExpectSameDecisions(journal);
}

// A decision that was not the policy's is found.
TEST(SchedulersTest, AReplayFindsADecisionThatIsNot) {
  std::vector<std::string> journal = RunBatch(3, {"fifo", 10, 1, 5});
  ExpectSameDecisions(journal);
  for (std::string& line : journal) {
    const std::size_t node = line.find(" node=n");
    if (line.find(" AttemptLaunched ") == std::string::npos) continue;
    line.replace(node, std::string::npos, " node=n9");
    break;
  }
  const sim::ReplayResult replayed = Replayed(journal);
  EXPECT_GT(replayed.differs_at, 0u);
  EXPECT_THAT(replayed.expected, HasSubstr(" node=n9"));
}

// The scheduler file is read at the start and followed; a wrong one changes nothing.
TEST(SchedulersTest, TheSchedulerFileIsFollowed) {
  SimulatedOptions options;
  options.workers = 1;
  options.settings = "[edf]\nexclusive = true\n";
  SimulatedCluster cluster(options);
  EXPECT_TRUE(cluster.control().scheduler_file().settings().Of<sched::EdfSettings>().exclusive);
  cluster.WriteSettings("[edf]\nexclusive = 17\n");
  cluster.Advance(2);
  EXPECT_THAT(cluster.control().scheduler_file().problem(), HasSubstr("scheduler.toml:2"));
  EXPECT_TRUE(cluster.control().scheduler_file().settings().Of<sched::EdfSettings>().exclusive);
  const std::size_t before = cluster.Journal().size();
  cluster.WriteSettings("[edf]\nexclusive = false\n");
  cluster.Advance(2);
  EXPECT_EQ(cluster.control().scheduler_file().problem(), "");
  EXPECT_FALSE(cluster.control().scheduler_file().settings().Of<sched::EdfSettings>().exclusive);
  const std::vector<std::string> journal = cluster.Journal();
  ASSERT_EQ(journal.size(), before + 1);
  EXPECT_THAT(journal.back(), HasSubstr(" SchedulerSet name=fifo "));
  cluster.RestartMaster();
  EXPECT_FALSE(cluster.control().scheduler_file().settings().Of<sched::EdfSettings>().exclusive);
}

// A slip in the file must not wait for the next start to take the cluster down.
TEST(SchedulersTest, AMasterStartsWithTheLastGoodSchedulerFileAndSaysSo) {
  SimulatedOptions options;
  options.workers = 1;
  options.settings = "[edf]\nexclusive = true\n";
  SimulatedCluster cluster(options);
  const auto exclusive = [&] {
    return cluster.control().scheduler_file().settings().Of<sched::EdfSettings>().exclusive;
  };
  const auto told = [&] {
    std::string lines;
    for (const Notice& notice : master::WarningsOf(master::Summarize(cluster.control().summary()))) {
      if (notice.code == NoticeCode::kSchedulerFile) lines += notice.line;
    }
    return lines;
  };
  cluster.Advance(30);
  cluster.WriteSettings("[edf]\nexclusive = 17\n");
  cluster.Advance(2);
  EXPECT_TRUE(exclusive());
  EXPECT_THAT(told(), ::testing::AllOf(HasSubstr("scheduler.toml:2"), HasSubstr("its earlier contents stay in force")));
  for (int restart = 0; restart < 2; ++restart) {
    cluster.RestartMaster();
    cluster.Advance(10);
    EXPECT_TRUE(exclusive());
    EXPECT_THAT(told(),
                ::testing::AllOf(HasSubstr("has been refused since 1970-01-01T00:00:3"), HasSubstr("scheduler.toml:2"),
                                 HasSubstr("a copy is in force, of its contents on 1970-01-01T00:00:0")));
  }
  cluster.WriteSettings("[edf]\nexclusive = false\n");
  cluster.Advance(2);
  EXPECT_FALSE(exclusive());
  EXPECT_EQ(told(), "");
  cluster.WriteSettings("nonsense");
  cluster.RestartMaster();
  EXPECT_FALSE(exclusive()) << "what came into force while it ran";
}

}  // namespace
}  // namespace millrace
