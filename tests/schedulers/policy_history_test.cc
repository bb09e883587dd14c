// SPDX-License-Identifier: Apache-2.0
// Plays random histories with faults to every scheduler of the catalog, with every part that it takes, and to an order
// that is not in the catalog. No slot is over-filled, no task is lost or run twice at a time, every job ends, no slot
// idles where the scheduler promises that, and the same events give the same decisions, whatever the addresses in
// memory.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schedulers/events/effects.h"
#include "schedulers/events/event_text.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/usage/memory.h"
#include "tests/schedulers/dump.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/round_robin.h"

namespace millrace::sched {
namespace {

// These may leave a slot idle although a task could run there, by design, for the reason given.
const std::map<std::string, std::string> kNotConserving = {
    {"cp", "reduces wait for all maps of their job"},
    {"fresh-dynamic", "a reduce waits for all maps of its job"},
    {"fresh-static", "a node's slots are split between maps and reduces"},
    {"joss-t", "tasks are bound to a datacenter"},
    {"joss-j", "tasks are bound to a datacenter"},
    {"lsap", "slots gather for a batch"},
    {"lsap-uniform", "slots gather for a batch"},
    {"lsap-fair", "slots gather for a batch"},
};

std::vector<HistoryOptions> EveryScheduler() {
  std::vector<HistoryOptions> all;
  for (const PolicyInfo& info : ListPolicies()) {
    for (unsigned parts = 0; parts < 1U << info.parts.size(); ++parts) {
      HistoryOptions options;
      options.scheduler = info.name;
      options.conserving = !kNotConserving.contains(info.name);
      for (std::size_t part = 0; part < info.parts.size(); ++part) {
        if ((parts >> part & 1) == 0) continue;
        options.scheduler += '+' + info.parts[part];
        if (info.parts[part] == "delay") options.conserving = false;
      }
      options.settings.Named<PoolSettings>()["pool0"].weight = 3;
      options.settings.Named<PoolSettings>()["pool1"].min_maps = 2;
      options.settings.Named<PoolSettings>()["pool1"].min_reduces = 1;
      options.settings.Named<PoolSettings>()["pool0"].integral = IntegralKind::kBurst;
      options.settings.Named<PoolSettings>()["pool0"].flow_maps = 1;
      options.settings.Named<PoolSettings>()["pool0"].burst_maps = 3;
      options.settings.Named<PoolSettings>()["pool1"].integral = IntegralKind::kRelaxed;
      options.settings.Named<PoolSettings>()["pool1"].flow_reduces = 1;
      options.settings.Of<MemorySettings>() = {5 * kSecond, 1, kSecond};
      options.settings.Of<FairSettings>().min_share_timeout = 1 * kSecond;
      options.settings.Of<FairSettings>().fair_share_timeout = 2 * kSecond;
      options.settings.Of<CpSettings>().evaluations = 50;
      all.push_back(options);
      if (!options.scheduler.ends_with("+preempt")) continue;
      options.settings.Of<FairSettings>().preempt_within_pools = true;
      all.push_back(options);
    }
  }
  // An order as somebody would write it who has read only the seam.
  all.emplace_back().scheduler = "round robin of a newcomer";
  all.back().make = [] { return std::make_unique<Greedy>("round-robin", std::make_unique<RoundRobin>(), Admission()); };
  return all;
}

// Plays the same events and calls of Decide to an engine of its own.
std::string DecideAgain(const std::vector<History::Record>& records, const HistoryOptions& options) {
  std::vector<std::unique_ptr<int[]>> elsewhere;  // so that nothing lies where it lay
  Engine engine(options.engine, MakePolicyOf(options));
  std::vector<std::string> decided;
  std::size_t next = 0;
  for (const History::Record& record : records) {
    elsewhere.push_back(std::make_unique<int[]>(records.size() % 97 + elsewhere.size() % 13));
    Effects effects;
    if (record.line == History::kDecide) {
      if (next != decided.size()) return "decides less before " + record.line + ", not " + decided[next];
      decided.clear();
      next = 0;
      engine.Decide(record.time, &effects);
      for (const Effect& effect : effects) {
        if (const auto decision = DecisionOf(effect)) decided.push_back(FormatEvent(record.time, *decision));
      }
    } else if (next < decided.size()) {
      if (decided[next] != record.line) return "decides " + decided[next] + ", not " + record.line;
      ++next;
    } else {
      const auto timed = ParseEvent(record.line);
      (void)engine.Apply(timed->time, timed->event, &effects);
    }
  }
  return Dump(engine.state());
}

class EveryPolicy : public testing::TestWithParam<HistoryOptions> {};

TEST_P(EveryPolicy, KeepsTheRulesEndsAllJobsAndDecidesTheSameAgain) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 40; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    HistoryOptions options = GetParam();
    options.settings.Of<SpeculationSettings>().enabled = round % 4 == 3;
    options.settings.Of<SpeculationSettings>().min_runtime = 1;
    History history(base + round, options);
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
      history.Step();
      if (step % 10 == 0) history.CheckState();
    }
    history.FinishAll();
    history.CheckState();
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(DecideAgain(history.records(), options), Dump(history.engine().state()));
    (void)history.engine().policy().View(history.engine().state(), 0);
  }
}

// n1 alone has slots, and is refused to the job, or avoided by all. Nothing else happens: the engine says when to ask,
// and then the policy takes what it has refused before.
class Forgiving {
 public:
  explicit Forgiving(const HistoryOptions& options)
      : engine_({.max_failures_per_node = 1, .refusal = 60 * kSecond, .retry_pause = 0}, MakePolicyOf(options)) {
    for (const char* node : {"n1 maps=2 reduces=2", "n2", "n3", "n4", "n5"})
      Apply("NodeJoined node=" + std::string(node));
  }

  void Apply(const std::string& event) {
    const auto timed = ParseEvent(std::to_string(now_) + ' ' + event);
    ASSERT_TRUE(timed) << event;
    EXPECT_TRUE(engine_.Apply(now_, timed->event, &effects_)) << event;
  }

  // Asks now, and again as long as there is something to wait for before `limit`. Returns the first launch on n1.
  std::optional<AttemptId> LaunchBefore(Micros limit) {
    while (true) {
      effects_.clear();
      engine_.Decide(now_, &effects_);
      for (const Effect& effect : effects_) {
        const auto* launch = std::get_if<Launch>(&effect);
        if (launch != nullptr && launch->node == NodeId{1}) return launch->attempt;
      }
      const auto wake = engine_.NextWake();
      if (!wake || *wake >= limit) return std::nullopt;
      now_ = std::max(*wake, now_ + 1);
    }
  }

  void Fail(const AttemptId& attempt) { Apply("AttemptFailed attempt=" + ToText(attempt)); }
  [[nodiscard]] Micros now() const { return now_; }

 private:
  Micros now_ = 0;
  Effects effects_;
  Engine engine_;
};

TEST_P(EveryPolicy, TakesANodeThatIsNotRefusedAnyMoreThoughNothingElseHappens) {
  for (const char* tasks : {"maps=1:n1", "maps=1:n9", "maps=1:", "reduces=1"}) {
    SCOPED_TRACE(tasks);
    Forgiving cluster(GetParam());
    cluster.Apply("JobSubmitted job=job1 max_attempts=9 " + std::string(tasks));
    for (Micros refusal = 60 * kSecond; refusal < 480 * kSecond; refusal *= 2) {
      const auto attempt = cluster.LaunchBefore(cluster.now() + 30 * kSecond);
      ASSERT_TRUE(attempt);
      cluster.Fail(*attempt);
      const Micros end = cluster.now() + refusal;
      ASSERT_FALSE(cluster.LaunchBefore(end)) << "it is refused";
      ASSERT_TRUE(cluster.LaunchBefore(end + 1)) << "it waits for ever";
      cluster.Apply("AttemptLost attempt=" + ToText(AttemptId{attempt->task, attempt->number + 1}));
    }
  }
}

TEST_P(EveryPolicy, TakesANodeThatIsNotAvoidedAnyMoreThoughNothingElseHappens) {
  // These are more than n2 takes under any scheduler.
  for (const char* tasks : {"maps=1:n1;1:n1;1:n1;1:n1;1:n1", "maps=1:n9;1:n9;1:n9;1:n9;1:n9", "reduces=5"}) {
    SCOPED_TRACE(tasks);
    Forgiving cluster(GetParam());
    cluster.Apply("NodeJoined node=n2 maps=1 reduces=1");
    cluster.Apply("JobSubmitted job=job8 maps=1: reduces=1 slow_start=0");
    cluster.Apply("AttemptLaunched attempt=job8.m.0.0 node=n2");
    cluster.Apply("AttemptLaunched attempt=job8.r.0.0 node=n2");
    for (const char* job : {"job2", "job3", "job4"})
      cluster.Apply("NodeBlamed node=n1 until=50000000 by=" + std::string(job));
    cluster.Apply("JobSubmitted job=job1 " + std::string(tasks));
    ASSERT_FALSE(cluster.LaunchBefore(50 * kSecond)) << "it is avoided";
    ASSERT_TRUE(cluster.LaunchBefore(80 * kSecond)) << "it waits for ever";
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryPolicy, testing::ValuesIn(EveryScheduler()), [](const auto& param) {
  std::string name = param.param.scheduler;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (param.param.settings.template Of<FairSettings>().preempt_within_pools) name += "_within_pools";
  return name;
});

}  // namespace
}  // namespace millrace::sched
