// SPDX-License-Identifier: Apache-2.0
// Tests the reading of workloads, clusters, placement and journals.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "lab/journal/replay.h"
#include "lab/workload/block_placer.h"
#include "lab/workload/distribution.h"
#include "lab/workload/simulation_file.h"
#include "lab/workload/swim.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "tests/lab/testing.h"
#include "tests/schedulers/history.h"

namespace millrace::sim {
namespace {

TEST(Swim, DerivesTasksFromBytes) {
  const auto workload = ParseSwim("job2\t20\t2\t53088744165\t1510005522\t5759777\n\njob3\t22\t2\t0\t0\t7\n", "t", {});
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  ASSERT_EQ(workload->jobs.size(), 2U);
  const SimJob& job = workload->jobs[0];
  EXPECT_EQ(job.submit, 20 * kSecond);
  EXPECT_EQ(job.maps.size(), 396U);   // 53088744165 / 2^27 = 395.5
  EXPECT_EQ(job.reduces.size(), 1U);  // 1515765299 / 2^30 = 1.4
  std::uint64_t input = 0, shuffle = 0;
  for (const SimMap& map : job.maps) input += map.bytes, shuffle += map.output;
  EXPECT_EQ(input, 53088744165U);
  EXPECT_EQ(shuffle, 1510005522U);
  EXPECT_EQ(job.maps[0].cpu, kSecond + static_cast<Micros>(134217728 / 50e6 * 1e6));
  EXPECT_EQ(workload->jobs[1].maps.size(), 1U);
  EXPECT_TRUE(workload->jobs[1].reduces.empty());
}

TEST(Swim, ManyReducesAreAFifthOfTheNodes) {
  SwimOptions options;
  options.nodes = 50;
  const auto workload = ParseSwim("j\t0\t0\t100\t107374182400\t0", "t", options);
  ASSERT_TRUE(workload.ok());
  EXPECT_EQ(workload->jobs[0].reduces.size(), 10U);
}

// Returns the share of each user in the jobs of a trace of so many jobs.
std::map<std::string, double> SharesOfUsers(std::size_t jobs, const SwimOptions& options) {
  std::string trace;
  for (std::size_t i = 0; i < jobs; ++i) trace += "j\t0\t0\t1\t0\t0\n";
  std::map<std::string, double> shares;
  const Workload workload = ParseSwim(trace, "t", options).value();
  for (const SimJob& job : workload.jobs) {
    shares[job.user] += 1.0 / static_cast<double>(jobs);
    EXPECT_EQ(job.pool, "");
  }
  return shares;
}

TEST(Swim, HasOneUserUnlessUsersAreAskedFor) {
  const auto shares = SharesOfUsers(100, {});
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares.begin()->first, "user");
}

TEST(Swim, SpreadsJobsOverUsersByZipfsLaw) {
  SwimOptions options;
  options.users = 20;
  for (const double skew : {0.0, 0.7, 1.0, 2.0}) {
    options.user_skew = skew;
    double sum = 0;
    for (int rank = 1; rank <= 20; ++rank) sum += std::pow(rank, -skew);
    constexpr double kJobs = 20'000;
    const auto shares = SharesOfUsers(static_cast<std::size_t>(kJobs), options);
    EXPECT_LE(shares.size(), 20U);
    for (int rank = 1; rank <= 20; ++rank) {
      const double expected = std::pow(rank, -skew) / sum, deviation = std::sqrt(expected * (1 - expected) / kJobs);
      const auto at = shares.find("user" + std::to_string(rank));
      EXPECT_NEAR(at == shares.end() ? 0 : at->second, expected, 5 * deviation) << "rank " << rank << ", skew " << skew;
    }
  }
}

TEST(Swim, TheSameSeedDrawsTheSameUsers) {
  SwimOptions options;
  options.users = 5;
  const auto users = [&] {
    std::string trace, names;
    for (std::size_t i = 0; i < 50; ++i) trace += "j\t0\t0\t1\t0\t0\n";
    const Workload workload = ParseSwim(trace, "t", options).value();
    for (const SimJob& job : workload.jobs) names += job.user + " ";
    return names;
  };
  const std::string first = users();
  EXPECT_EQ(users(), first);
  options.seed = 2;
  EXPECT_NE(users(), first);
}

// A map reads 50 MB at 50 MB/s in a second, after one of overhead; the reduce handles 100 + 50 MB.
TEST(Swim, JobsSayHowLongTheirTasksTakeIfAskedFor) {
  SwimOptions options;
  const std::string trace = "j\t0\t0\t50000000\t100000000\t50000000\n";
  EXPECT_EQ(ParseSwim(trace, "t", options)->jobs[0].map_time, 0);
  options.estimate_bias = Distribution::Constant(3);
  const Workload workload = ParseSwim(trace, "t", options).value();
  EXPECT_EQ(workload.jobs[0].map_time, 6 * kSecond);
  EXPECT_EQ(workload.jobs[0].reduce_time, 12 * kSecond);
}

TEST(Swim, WrongLinesAreNamed) {
  EXPECT_EQ(ParseSwim("j\t0\t0\t1\t1\t1\nj\t0\t0\n", "a.tsv", {}).status().message(),
            "a.tsv:2: there are 3 fields, not 6, separated by tabs");
  EXPECT_NE(ParseSwim("j\tx\t0\t1\t1\t1\n", "a.tsv", {}).status().message().find("a.tsv:1: the time of submission"),
            std::string::npos);
  EXPECT_FALSE(ParseSwim("j\t0\t0\t-1\t1\t1\n", "a.tsv", {}).ok());
  EXPECT_FALSE(ParseSwim("j\t0\t0\t1152921504606846976\t1\t1\n", "a.tsv", {}).ok());
}

constexpr const char* kMixed = R"(
name = "mixed"
seed = 3
block_size = "64M"
[cluster]
nodes = 10
racks = 2
map_slots = 3
reduce_slots = 1
rack_bandwidth = "500M"
slow_share = 0.1
[[cluster.groups]]
first = 8
count = 2
speed = 0.5
[[cluster.failures]]
node = 1
at = "10s"
back = "20s"
[placement]
kind = "random"
replication = 2
[arrival]
kind = "poisson"
mean = "30s"
[[jobs]]
name = "small"
count = 20
maps = { zipf = [1.2, 1, 40] }
map_time = { uniform = ["9s", "60s"] }
map_output = 0.5
reduces = 2
pool = ["a", "b"]
[[jobs]]
name = "large"
count = 2
input = "1G"
reduces_per_map = 0.25
reduce_time = { lognormal = ["20s", 0.4] }
deadline = "10m"
priority = "HIGH"
arrival = { kind = "interval", at = "5s", every = "100s" }
)";

TEST(SimulationFile, ReadsClusterAndClasses) {
  const auto file = ParseSimulation(kMixed, "mixed.toml", {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->seed, 3U);
  EXPECT_EQ(file->cluster.nodes.size(), 10U);
  EXPECT_EQ(file->cluster.nodes[0].slots, (sched::Slots{3, 1}));
  EXPECT_EQ(file->cluster.nodes[7].speed, 1);
  EXPECT_EQ(file->cluster.nodes[9].speed, 0.5);
  EXPECT_EQ(file->cluster.rack_bandwidth, 500.0 * 1024 * 1024);
  ASSERT_EQ(file->cluster.failures.size(), 1U);
  EXPECT_EQ(file->cluster.failures[0].back, 20 * kSecond);
  EXPECT_EQ(file->workload.placement.replication, 2U);
  ASSERT_EQ(file->workload.jobs.size(), 22U);
  for (std::size_t i = 0; i < 20; ++i) {
    const SimJob& job = file->workload.jobs[i];
    EXPECT_EQ(job.group, "small");
    EXPECT_EQ(job.pool, i % 2 == 0 ? "a" : "b");
    EXPECT_GE(job.maps.size(), 1U);
    EXPECT_LE(job.maps.size(), 40U);
    EXPECT_GE(job.maps[0].cpu, 9 * kSecond);
    EXPECT_LE(job.maps[0].cpu, 60 * kSecond);
    EXPECT_EQ(job.maps[0].bytes, 64U << 20);
    EXPECT_EQ(job.maps[0].output, 32U << 20);
  }
  const SimJob& large = file->workload.jobs[21];
  EXPECT_EQ(large.maps.size(), 16U);
  EXPECT_EQ(large.reduces.size(), 4U);
  EXPECT_EQ(large.submit, 105 * kSecond);
  EXPECT_EQ(large.deadline, 600 * kSecond);
  EXPECT_EQ(large.priority, sched::Priority::kHigh);
}

TEST(SimulationFile, MapsMayReadNothingFromTheCluster) {
  const std::string text = R"(
    [cluster]
    nodes = 3
    [[jobs]]
    name = "sleep"
    maps = 2
    located = false
  )";
  const Result<SimulationFile> file = ParseSimulation(text, "w.toml", {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::vector<std::vector<NodeId>> nowhere(2);
  EXPECT_EQ(file->workload.jobs[0].replicas, nowhere);
}

TEST(SimulationFile, JobsMaySayWhereTheirDataIs) {
  const std::string text = R"(
    [cluster]
    nodes = 3
    [[jobs]]
    maps = 2
    places = [[0, 2], [1]]
  )";
  const Result<SimulationFile> file = ParseSimulation(text, "w.toml", {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::vector<std::vector<NodeId>> places{{NodeId{0}, NodeId{2}}, {NodeId{1}}};
  EXPECT_EQ(file->workload.jobs[0].replicas, places);
}

TEST(SimulationFile, UsersTakeTurns) {
  const auto file = ParseSimulation("[[jobs]]\nname = \"scan\"\ncount = 5\nusers = 2\n", "f.toml", {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::string users;
  for (const SimJob& job : file->workload.jobs) users += job.user + " ";
  EXPECT_EQ(users, "scan-0 scan-1 scan-0 scan-1 scan-0 ");
  EXPECT_EQ(ParseSimulation("[[jobs]]\nuser = \"a\"\nusers = 2\n", "f.toml", {}).status().message(),
            "f.toml:3: jobs[0].users: `user` is given too; leave one of them out");
}

TEST(SimulationFile, AClosedArrivalMayFollowAnotherClass) {
  const std::string first = "[[jobs]]\nname = \"first\"\ncount = 3\narrival = { kind = \"batch\", at = 7 }\n";
  const std::string then = "[[jobs]]\nname = \"then\"\ncount = 5\n";
  const auto file = ParseSimulation(
      "[arrival]\nkind = \"closed\"\nworkers = 3\nthink = 2\nafter = \"first\"\n" + first + then, "f.toml", {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  std::set<std::uint32_t> followed;
  for (const SimJob& job : file->workload.jobs) {
    EXPECT_EQ(job.after.has_value(), job.group == "then");
    EXPECT_EQ(job.submit, (job.group == "then" ? 2 : 7) * kSecond);
    if (!job.after) continue;
    EXPECT_TRUE(followed.insert(*job.after).second) << "each job is followed by one at most";
  }
  EXPECT_TRUE(followed.contains(0) && followed.contains(1) && followed.contains(2));
  // No job follows one of its own stream.
  EXPECT_NE(ParseSimulation(then + "arrival = { kind = \"closed\", workers = 3, after = \"then\" }\n", "f.toml", {})
                .status()
                .message()
                .find("f.toml:4: jobs[0].arrival: `after` wants 3 jobs of a class \"then\" above, and there are 0"),
            std::string::npos);
}

TEST(SimulationFile, TheCommandLineGoesFirst) {
  Overrides overrides;
  overrides.nodes = 6, overrides.slots = sched::Slots{1, 2}, overrides.seed = 9, overrides.replication = 5;
  overrides.block_size = 128 << 20;
  const auto file = ParseSimulation("[cluster]\nnodes = 3\n[[jobs]]\ninput = \"1G\"\n", "f", overrides);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->cluster.nodes.size(), 6U);
  EXPECT_EQ(file->cluster.nodes[5].slots, (sched::Slots{1, 2}));
  EXPECT_EQ(file->seed, 9U);
  EXPECT_EQ(file->workload.placement.replication, 5U);
  EXPECT_EQ(file->workload.jobs[0].maps.size(), 8U);
}

TEST(SimulationFile, WrongFilesAreRefusedWithLineAndReason) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"[cluster]\nnodes = 0\n", "f:2: cluster.nodes: 0 is not within 1 to 100000"},
      {"[cluster]\nnode = 3\n", "f:2: cluster.node: there is no such key; did you mean nodes?"},
      {"\n[[jobs]]\nmaps = { zipf = [1] }\n", "f:3: jobs[0].maps: a distribution with the wrong numbers"},
      {"[[jobs]]\nmap_time = \"soon\"\n", "f:2: jobs[0].map_time: not a duration"},
      {"[[jobs]]\nmaps = 3\ninput = 4\n", "f:3: jobs[0].input: `maps` is given too"},
      {"[[jobs]]\npriority = \"URGENT\"\n", "f:2: jobs[0].priority: \"URGENT\" is not"},
      {"[arrival]\nkind = \"tidal\"\n", "f:2: arrival.kind: \"tidal\" is not batch"},
      {"[cluster]\nnodes = 2\n[[cluster.groups]]\ncount = 3\n", "f:4: cluster.groups[0].count: the cluster has only 2"},
      {"[[jobs]]\nplaces = [[0], [-1]]\n", "f:2: jobs[0].places: not a list with the numbers of nodes"},
      {"[[jobs]]\nplaces = [0]\n", "f:2: jobs[0].places: not a list with the numbers of nodes"},
      {"[[jobs]]\nplaces = [[0]]\nlocated = false\n", "f:2: jobs[0].places: `located = false` is given too"},
      {"nonsense", "f:1: "},
      {"[[jobs]]\nmaps = { normal = [3, -1] }\n", "f:2: jobs[0].maps: below 0"},
      {"jobs = 3\n", "f:1: jobs: not a list of tables"},
  };
  for (const auto& [text, message] : kWrong) {
    const auto file = ParseSimulation(text, "f", {});
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_EQ(file.status().message().substr(0, std::string(message).size()), message) << text;
  }
}

TEST(SimulationFile, TheSameSeedDrawsTheSameJobs) {
  const auto a = ParseSimulation(kMixed, "f", {}), b = ParseSimulation(kMixed, "f", {});
  Overrides other;
  other.seed = 4;
  const auto c = ParseSimulation(kMixed, "f", other);
  bool differs = false;
  for (std::size_t i = 0; i < 22; ++i) {
    EXPECT_EQ(a->workload.jobs[i].submit, b->workload.jobs[i].submit);
    EXPECT_EQ(a->workload.jobs[i].maps.size(), b->workload.jobs[i].maps.size());
    differs = differs || a->workload.jobs[i].submit != c->workload.jobs[i].submit;
  }
  EXPECT_TRUE(differs);
}

TEST(Distribution, HasTheMomentsOfItsKind) {
  using Kind = Distribution::Kind;
  Random random(1);
  const auto mean = [&](const Distribution& of, auto function) {
    double sum = 0;
    for (int i = 0; i < 100'000; ++i) sum += function(of.Draw(random));
    return sum / 100'000;
  };
  const auto same = [](double x) { return x; };
  EXPECT_NEAR(mean({Kind::kUniform, 2, 6, 0, {}}, same), 4, 0.02);
  EXPECT_NEAR(mean({Kind::kExponential, 5, 0, 0, {}}, same), 5, 0.1);
  EXPECT_NEAR(mean({Kind::kNormal, 50, 3, 0, {}}, same), 50, 0.1);
  EXPECT_NEAR(mean({Kind::kLogNormal, 7, 0.5, 0, {}}, [](double x) { return std::log(x); }), std::log(7), 0.02);
  EXPECT_NEAR(mean({Kind::kChoice, 0, 0, 0, {1, 2, 6}}, same), 3, 0.05);
  // P(1) of the first 10 with exponent 1 is 1 over the tenth harmonic number.
  EXPECT_NEAR(mean(Distribution::Zipf(1, 1, 10), [](double x) { return x == 1 ? 1.0 : 0.0; }), 1 / 2.9289683, 0.01);
}

TEST(BlockPlacer, FollowsTheRulesOfTheFileSystem) {
  const ClusterSpec cluster = MakeCluster(20, 4, 2);
  const auto rack = [&](NodeId node) { return cluster.nodes[node.value].rack; };
  const BlockPlacer dfs(cluster, {Placement::Kind::kDfs, 3}, 1);
  const BlockPlacer spread(cluster, {Placement::Kind::kSpread, 2}, 1);
  for (std::uint32_t block = 0; block < 500; ++block) {
    const auto replicas = dfs.Place(42, block);
    ASSERT_EQ(std::set(replicas.begin(), replicas.end()).size(), 3U);
    EXPECT_NE(rack(replicas[0]), rack(replicas[1]));
    EXPECT_EQ(rack(replicas[1]), rack(replicas[2]));
    EXPECT_EQ(replicas, dfs.Place(42, block));
    const auto apart = spread.Place(42, block);
    EXPECT_NE(cluster.nodes[apart[0].value].datacenter, cluster.nodes[apart[1].value].datacenter);
  }
  EXPECT_EQ(BlockPlacer(MakeCluster(2), {Placement::Kind::kDfs, 3}, 1).Place(1, 1).size(), 2U);
}

std::string Record(const std::string& scheduler, std::uint64_t seed) {
  ClusterSpec cluster = MakeCluster(6, 2, 1, {2, 1});
  cluster.failures = {{2, 20 * kSecond, 40 * kSecond}};
  cluster.failure_probability = 0.05;
  std::string journal;
  SimOptions options;
  options.seed = seed;
  options.journal = [&](std::string_view line) { (journal += line) += '\n'; };
  std::vector<SimJob> jobs;
  for (int i = 0; i < 8; ++i) {
    SimJob job = MakeJob(6, 5 + i, 2, 4);
    for (SimMap& map : job.maps) map.bytes = 20'000'000, map.output = 10'000'000;
    job.submit = i * 4 * kSecond;
    job.user = i % 2 == 0 ? "a" : "b";
    jobs.push_back(job);
  }
  (void)MustSimulate(cluster, Of(jobs), scheduler, options);
  return journal;
}

// Each node holds a block with probability 3/20: a binomial number of replicas, with its mean and variance.
TEST(BlockPlacer, IndependentReplicasAreBinomial) {
  const ClusterSpec cluster = MakeCluster(20, 2, 1, {1, 1});
  const BlockPlacer placer(cluster, {Placement::Kind::kIndependent, 3}, 1);
  double sum = 0, squares = 0;
  constexpr std::uint32_t kBlocks = 20'000;
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    const double replicas = static_cast<double>(placer.Place(5, block).size());
    sum += replicas, squares += replicas * replicas;
  }
  const double mean = sum / kBlocks;
  EXPECT_NEAR(mean, 3, 0.05);
  EXPECT_NEAR(squares / kBlocks - mean * mean, 20 * 0.15 * 0.85, 0.1);
}

TEST(Replay, ASimulationsJournalGivesTheSameDecisions) {
  for (const std::string scheduler : {"fifo", "fair"}) {
    const std::string journal = Record(scheduler, 3);
    EXPECT_TRUE(LooksLikeJournal(journal));
    const auto replayed = ReplayJournal(journal, "j", scheduler, {});
    ASSERT_TRUE(replayed.ok()) << replayed.status().message();
    EXPECT_EQ(replayed->differs_at, 0U) << replayed->expected << " against " << replayed->decided;
    EXPECT_GE(replayed->launches, 8U * 8);
  }
}

TEST(Replay, AnotherDecisionIsFound) {
  std::string journal = Record("fifo", 3);
  const std::size_t at = journal.find(" AttemptLaunched attempt=job0.m.0.0 node=n");
  ASSERT_NE(at, std::string::npos);
  const std::size_t digit = journal.find("node=n", at) + 6;
  journal[digit] = journal[digit] == '5' ? '4' : '5';
  const auto replayed = ReplayJournal(journal, "j", "fifo", {});
  ASSERT_TRUE(replayed.ok());
  EXPECT_GT(replayed->differs_at, 0U);
  EXPECT_NE(replayed->expected, replayed->decided);
}

TEST(Replay, ARandomHistoryGivesTheSameDecisions) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    sched::HistoryOptions options;
    options.engine = {};
    sched::History history(seed, options);
    for (int i = 0; i < 400; ++i) history.Step();
    history.FinishAll();
    std::string journal;
    for (const auto& record : history.records()) {
      journal += record.line == sched::History::kDecide ? std::to_string(record.time) + " decide" : record.line;
      journal += '\n';
    }
    const auto replayed = ReplayJournal(journal, "j", "fifo", {});
    ASSERT_TRUE(replayed.ok()) << replayed.status().message();
    EXPECT_EQ(replayed->differs_at, 0U) << "seed " << seed << ": " << replayed->expected << " against "
                                        << replayed->decided;
  }
}

// fifo+delay on two nodes of two racks, the data on the one that is full: the job refuses n1 when it comes, earns its
// rack 5 s later and the datacenter after 5 s more. A launch sooner or later than that was not decided so.
TEST(Replay, ALiveJournalIsDecidedWhereItsMarksSayToo) {
  const std::string begin =
      "0 SchedulerSet name=fifo%2Bdelay\n1 NodeJoined node=n0 rack=a maps=1\n2 JobSubmitted job=job0 maps=1:n0;1:n0\n"
      "2 AttemptLaunched attempt=job0.m.0.0 node=n0\n7 NodeJoined node=n1 rack=b maps=1\n";
  const std::string launch = "AttemptLaunched attempt=job0.m.1.0 node=n1\n";
  const auto same = ReplayJournal(begin + "5000007 woken\n10000007 " + launch, "j", "", {});
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(same->differs_at, 0U) << same->expected << " against " << same->decided;
  EXPECT_EQ(same->launches, 2U);
  EXPECT_EQ(ReplayJournal(begin + "4000007 " + launch, "j", "", {})->differs_at, 6U) << "before its time";
  EXPECT_EQ(ReplayJournal(begin + "10000007 woken\n10000008 " + launch, "j", "", {})->differs_at, 6U) << "too late";
}

// lsap+delay holds the free slot for 200 ms; only then does job1 refuse it, and its clock starts. Nothing is launched
// at that moment, so nothing but the mark tells of it.
TEST(Replay, AMarkWithoutAnyDecisionStartsAClock) {
  sched::Settings settings;
  settings.Of<sched::LsapSettings>().batch_window = 200 * kMillisecond;
  const std::string begin =
      "1 NodeJoined node=n0 rack=a maps=1\n2 JobSubmitted job=job0 maps=1:n0\n"
      "200002 AttemptLaunched attempt=job0.m.0.0 node=n0\n300000 NodeJoined node=n1 rack=b maps=1\n"
      "400000 JobSubmitted job=job1 maps=1:n0\n";
  const std::string end = "5600000 woken\n10600000 AttemptLaunched attempt=job1.m.0.0 node=n1\n";
  const auto same = ReplayJournal(begin + "600000 woken\n" + end, "j", "lsap+delay", settings);
  ASSERT_TRUE(same.ok()) << same.status().message();
  EXPECT_EQ(same->differs_at, 0U) << same->expected << " against " << same->decided;
  EXPECT_EQ(same->launches, 2U);
  const auto without = ReplayJournal(begin + end, "j", "lsap+delay", settings);
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_EQ(without->differs_at, 7U);
}

// After a restart the running map is known; what the ended job taught of map times is not, nor is the clock of a wait.
TEST(Replay, AfterARestartTheEngineKnowsWhatRecoveryReads) {
  const std::string journal =
      "0 restart\n0 SchedulerSet name=sjf\n1 NodeJoined node=n0 maps=1\n2 JobSubmitted job=job0 maps=1:n0\n"
      "2 AttemptLaunched attempt=job0.m.0.0 node=n0\n3 AttemptSucceeded attempt=job0.m.0.0\n"
      "4 JobSubmitted job=job1 maps=1:n0\n4 AttemptLaunched attempt=job1.m.0.0 node=n0\n"
      "5 JobSubmitted job=job2 maps=1:n0\n6 restart\n6 SchedulerSet name=sjf\n7 AttemptSucceeded attempt=job1.m.0.0\n"
      "7 AttemptLaunched attempt=job2.m.0.0 node=n0\n8 restart\n8 SchedulerSet name=sjf\n9 JobKilled job=job2\n"
      "10 restart\n10 SchedulerSet name=sjf\n11 NodeJoined node=n0 maps=1\n12 JobSubmitted job=job3 maps=1:n0\n"
      "12 AttemptLaunched attempt=job3.m.0.0 node=n0\n";
  const auto replayed = ReplayJournal(journal, "j", "", {});
  ASSERT_TRUE(replayed.ok()) << replayed.status().message();
  EXPECT_EQ(replayed->differs_at, 0U) << replayed->expected << " against " << replayed->decided;
  EXPECT_EQ(replayed->launches, 4U);
  // Nothing is known any more of a job that has ended.
  EXPECT_EQ(ReplayJournal(journal + "13 AttemptSucceeded attempt=job2.m.0.0\n", "j", "", {})->decided, "refused");
}

// Three jobs that have ended blame n1, one of them from before a quiet time: the first job after the restart goes to
// n2, and back to n1 when one of the three would have tried it again.
TEST(Replay, WhatEndedJobsSayOfANodeCountsAfterARestart) {
  const std::string journal =
      "0 restart\n0 SchedulerSet name=fifo\n1 NodeJoined node=n1 maps=1\n1 NodeJoined node=n2 maps=2\n"
      "1 NodeJoined node=n3\n1 NodeJoined node=n4\n1 NodeJoined node=n5\n2 NodeBlamed node=n1 by=job1 until=100\n"
      "3 JobSubmitted job=job7 maps=1:n2\n3 AttemptLaunched attempt=job7.m.0.0 node=n2\n"
      "4 NodeBlamed node=n1 by=job2 until=200\n5 NodeBlamed node=n1 by=job3 until=300\n6 restart\n"
      "6 SchedulerSet name=fifo\n7 JobSubmitted job=job8 maps=1:n1;1:n1\n7 AttemptLaunched attempt=job8.m.0.0 node=n2\n"
      "100 woken\n100 AttemptLaunched attempt=job8.m.1.0 node=n1\n";
  const auto replayed = ReplayJournal(journal, "j", "", {});
  ASSERT_TRUE(replayed.ok()) << replayed.status().message();
  EXPECT_EQ(replayed->differs_at, 0U) << replayed->expected << " against " << replayed->decided;
  EXPECT_EQ(replayed->launches, 3U);
}

TEST(Replay, ASchedulerInTheJournalIsUsed) {
  const std::string journal =
      "0 SchedulerSet name=fifo\n0 NodeJoined node=n0 maps=1\n1 JobSubmitted job=job0 maps=1:n0\n"
      "1 AttemptLaunched attempt=job0.m.0.0 node=n0\n2 AttemptSucceeded attempt=job0.m.0.0\n";
  const auto replayed = ReplayJournal(journal, "j", "", {});
  ASSERT_TRUE(replayed.ok()) << replayed.status().message();
  EXPECT_EQ(replayed->scheduler, "fifo");
  EXPECT_EQ(replayed->launches, 1U);
  EXPECT_EQ(replayed->differs_at, 0U) << replayed->expected << " against " << replayed->decided;
  EXPECT_FALSE(ReplayJournal("0 NodeJoined node=n0 maps=1\n", "j", "", {}).ok());
  EXPECT_EQ(ReplayJournal("0 NodeJoined node=n0\nnonsense\n", "j", "fifo", {}).status().message(),
            "j:2: \"nonsense\" is not an event");
}

}  // namespace
}  // namespace millrace::sim
