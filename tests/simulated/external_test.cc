// SPDX-License-Identifier: Apache-2.0
// Programs that order the jobs of a live master, under driven time: what they say is in the journal, and what they do
// wrong ends them and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "lab/journal/replay.h"
#include "master/control/cluster_summary.h"
#include "master/control/scheduler_program.h"
#include "schedulers/policies/external/external_settings.h"
#include "tests/fakes/held_background.h"
#include "tests/simulated/simulated_cluster.h"

namespace millrace {
namespace {

using outside::Kind;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr Kind kRanking = Kind::kRanking, kAssignment = Kind::kAssignment;

// What a program was told of the jobs.
struct Mirror {
  std::vector<std::string> jobs;  // by submission
  int wholes = 0, questions = 0;

  void Read(std::string_view question) {
    ++questions;
    std::istringstream lines{std::string(question)};
    for (std::string line; std::getline(lines, line);) {
      const auto name = [&](std::size_t at) { return line.substr(at, line.find(' ', at) - at); };
      if (line == "whole") ++wholes, jobs.clear();
      if (line.starts_with("job id=") && std::find(jobs.begin(), jobs.end(), name(7)) == jobs.end())
        jobs.push_back(name(7));
      if (line.starts_with("ended job=")) std::erase(jobs, name(10));
    }
  }
  [[nodiscard]] std::string LastFirst() const {
    std::string order;
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) order += (order.empty() ? "" : ",") + *job;
    return "order maps=" + order + " reduces=" + order + "\n";
  }
};

// A program as a function from questions to answers.
using Wits = std::function<Result<std::string>(Mirror&, std::uint64_t question)>;

Result<std::string> LastFirst(Mirror& mirror, std::uint64_t) { return mirror.LastFirst(); }

class ExternalTest : public testing::Test {
 protected:
  class FakeAdviser final : public outside::Adviser {
   public:
    FakeAdviser(ExternalTest& test, Kind kind) : test_(test), kind_(kind) { ++test_.alive_; }
    ~FakeAdviser() override { --test_.alive_; }
    [[nodiscard]] Kind kind() const override { return kind_; }
    Result<Reply> Ask(std::string_view question, std::uint64_t number, Micros) override {
      mirror_.Read(question);
      test_.last_ = mirror_;
      MILLRACE_ASSIGN(std::string answer, test_.wits_(mirror_, number));
      return Reply{std::move(answer), 0};
    }
    [[nodiscard]] std::string Transcript() const override { return "what was said\n"; }

   private:
    ExternalTest& test_;
    const Kind kind_;
    Mirror mirror_;
  };

  void Start(const std::string& scheduler, const std::string& settings = {}, std::uint64_t seed = 1) {
    SimulatedOptions options;
    options.seed = seed;
    options.workers = 4;
    options.racks = 2;
    options.map_slots = 1;
    options.scheduler = scheduler;
    options.settings = settings;
    options.programs = &background_;
    options.start_program = [this](const std::string& program) -> Result<std::unique_ptr<outside::Adviser>> {
      started_.push_back(program);
      if (!missing_.empty()) return NotFound(missing_);
      return std::unique_ptr<outside::Adviser>(std::make_unique<FakeAdviser>(*this, kind_));
    };
    cluster_ = std::make_unique<SimulatedCluster>(options);
    cluster_->AddFile("/in/ten", 10);
    cluster_->AddFile("/in/one", 1);
  }
  ~ExternalTest() override {
    cluster_.reset();
    background_.Finish();  // programs end where they ran
    EXPECT_EQ(alive_, 0);
  }

  // The program answers at once, or after `seconds`.
  void Advance(double seconds, double piece = 0.05) {
    for (double left = seconds; left > 0; left -= piece) {
      background_.Finish();
      cluster_->Advance(piece);
    }
  }
  void ExpectAllSucceed(double piece = 0.05) {
    for (int i = 0; i < 4000 && !Ended(); ++i) Advance(1, piece);
    EXPECT_TRUE(Ended());
    EXPECT_THAT(cluster_->Outputs(), Each(Pair(testing::_, JobState::kSucceeded)));
  }
  bool Ended() {
    for (const auto& [output, state] : cluster_->Outputs()) {
      if (state != JobState::kSucceeded && state != JobState::kFailed && state != JobState::kKilled) return false;
    }
    return true;
  }
  void ExpectReplays() {
    std::string text;
    for (const std::string& line : cluster_->Journal()) (text += line) += '\n';
    const Result<sim::ReplayResult> replayed = sim::ReplayJournal(text, "journal", "", {});
    ASSERT_TRUE(replayed.ok()) << replayed.status().message();
    EXPECT_EQ(replayed->differs_at, 0u) << replayed->expected << "\nagainst " << replayed->decided;
    EXPECT_GT(replayed->launches, 0u);
  }
  std::string Facts() {
    std::string text;
    for (const sched::Fact& fact : cluster_->control().jobs().ViewPolicy(0).facts)
      text += fact.name + "=" + (fact.number ? std::to_string(static_cast<int>(*fact.number)) : fact.text) + "\n";
    return text;
  }
  Status Set(const std::string& name, const std::optional<master::SchedulerChoice::Program>& program) {
    master::Step step = cluster_->control().steps().Begin();
    const Status set = cluster_->control().scheduler().Set(name, program, &step);
    cluster_->control().steps().FinishLazily(std::move(step));
    return set;
  }
  [[nodiscard]] const std::string& InForce() { return cluster_->control().scheduler().name(); }
  [[nodiscard]] std::vector<std::string> Warnings() {
    std::vector<std::string> codes;
    for (const Notice& notice : master::WarningsOf(master::Summarize(cluster_->control().summary())))
      codes.emplace_back(notice.name());
    return codes;
  }

  rpc::HeldBackground background_;
  Wits wits_ = LastFirst;
  Kind kind_ = kRanking;
  std::string missing_;
  std::vector<std::string> started_;
  int alive_ = 0;
  Mirror last_;
  std::unique_ptr<SimulatedCluster> cluster_;
};

TEST_F(ExternalTest, AProgramOrdersTheJobs) {
  Start("external:last.py");
  Advance(1);
  EXPECT_EQ(started_, std::vector<std::string>{"last.py"});
  for (int i = 0; i < 3; ++i) cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
  const auto ended = [&](std::uint32_t job) {
    return cluster_->control().jobs().FindRecord(JobId{job})->outcome.has_value();
  };
  for (int i = 0; i < 600 && !ended(3); ++i) Advance(1);
  EXPECT_TRUE(ended(3)) << "the last is served first";
  EXPECT_FALSE(ended(2));
  ExpectAllSucceed();
  EXPECT_EQ(InForce(), "external");
  EXPECT_EQ(last_.wholes, 1) << "after the first question it is told what has changed";
  EXPECT_EQ(started_.size(), 1u);
  ExpectReplays();
}

// It says the same for hours, and the journal does not grow by it.
TEST_F(ExternalTest, AnOrderThatStaysIsKeptOnce) {
  Start("external:last.py");
  Advance(1);
  for (int i = 0; i < 30; ++i) cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
  ExpectAllSucceed();
  std::map<std::size_t, int> sizes;
  std::set<std::string> orders;
  std::string last;
  for (const std::string& line : cluster_->Journal()) {
    if (line.find(" PolicyAnswered ") == std::string::npos) continue;
    const std::string answer = line.substr(line.find("answer="));
    if (answer.size() > 7) {
      EXPECT_NE(answer, last);
      orders.insert(last = answer);
    }
    ++sizes[answer.size()];
  }
  EXPECT_GT(orders.size(), 10u);
  EXPECT_GT(sizes[7], static_cast<int>(orders.size())) << "more often it is what it was";
  ExpectReplays();
}

// A question an interval, however much happens.
TEST_F(ExternalTest, ARankingIsAskedNoMoreOftenThanTheIntervalSays) {
  Start("external:last.py", "[external]\ninterval = \"5s\"\n");
  for (int i = 0; i < 10; ++i) cluster_->Submit("/in/one", "/out/" + std::to_string(i), 1);
  Advance(21);
  EXPECT_LE(last_.questions, 6);
  EXPECT_GE(last_.questions, 3);
  ExpectAllSucceed();
}

TEST_F(ExternalTest, AnAssignmentIsToldOfByTheProgramItself) {
  kind_ = kAssignment;
  Start("external:last.py+ccs");
  for (int i = 0; i < 3; ++i) cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
  ExpectAllSucceed(0.001);
  EXPECT_EQ(InForce(), "external+ccs");
  EXPECT_EQ(cluster_->control().scheduler().settings().Of<sched::ExternalSettings>().kind, kAssignment);
  EXPECT_GT(last_.questions, 25) << "one for each launch, but for those before it was there";
  EXPECT_TRUE(cluster_->control().scheduler().relief() == std::nullopt);
  ExpectReplays();
}

// What the fallback decided while the program was not there yet is not its fault.
TEST_F(ExternalTest, WhileTheProgramStartsTheFallbackDecides) {
  kind_ = kAssignment;
  Start("external:last.py", "[external]\nkind = \"assignment\"\ntolerate = 0\n");
  for (int i = 0; i < 3; ++i) cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
  cluster_->Advance(30);  // the program has not been started: many limits are missed
  EXPECT_THAT(Facts(), HasSubstr("missed limits="));
  EXPECT_GT(cluster_->JournalLines("AttemptSucceeded"), 3u);
  ExpectAllSucceed(0.001);
  EXPECT_EQ(InForce(), "external");
  ExpectReplays();
}

struct Failing {
  std::string name;
  Wits wits;
  std::string why;
};

class FailingProgramTest : public ExternalTest, public testing::WithParamInterface<Failing> {};

TEST_P(FailingProgramTest, TheFallbackTakesOverAndSaysWhy) {
  Start("external:bad.py+delay", "[external]\nfallback = \"sjf\"\ntolerate = 3\n");
  wits_ = GetParam().wits;
  for (int i = 0; i < 6; ++i) {
    cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
    Advance(2);
  }
  ExpectAllSucceed();
  EXPECT_EQ(InForce(), "sjf+delay");
  EXPECT_EQ(alive_, 0);
  EXPECT_THAT(Warnings(), testing::Contains("scheduler-relieved"));
  const std::string line = cluster_->control().scheduler().ReliefLine();
  EXPECT_THAT(line, AllOf(HasSubstr("\"bad.py\""), HasSubstr(GetParam().why)));
  EXPECT_EQ(cluster_->JournalLines("SchedulerSet"), 2u);
  cluster_->RestartMaster();
  Advance(2);
  EXPECT_EQ(InForce(), "sjf+delay") << "it does not come back by itself";
  EXPECT_EQ(cluster_->control().scheduler().ReliefLine(), line);
  EXPECT_EQ(started_.size(), 1u);
  ExpectReplays();
  ASSERT_TRUE(Set("fair", std::nullopt).ok());
  EXPECT_THAT(Warnings(), testing::Not(testing::Contains("scheduler-relieved")));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FailingProgramTest,
    testing::Values(Failing{"Ends", [](Mirror&, std::uint64_t) { return Unavailable("it has ended with status 3"); },
                            "it has ended with status 3"},
                    Failing{"EndsLater",
                            [](Mirror& mirror, std::uint64_t question) -> Result<std::string> {
                              if (question < 5) return mirror.LastFirst();
                              return Unavailable("it was ended by signal 9");
                            },
                            "signal 9"},
                    Failing{"IsMisread", [](Mirror&, std::uint64_t) { return std::string("nonsense\n"); }, "is none"},
                    Failing{"NamesNoJobs", [](Mirror&, std::uint64_t) { return std::string("order maps=job99\n"); },
                            "were refused"},
                    Failing{"LaunchesNothing",
                            [](Mirror&, std::uint64_t) { return std::string("launch kind=map job=job99 node=n77\n"); },
                            "were refused"}),
    [](const auto& param) { return param.param.name; });

TEST_F(ExternalTest, AProgramThatCannotBeStartedIsRelievedAtOnce) {
  missing_ = "there is no such program";
  Start("external:gone.py");
  cluster_->Submit("/in/ten", "/out", 1);
  Advance(1);
  EXPECT_EQ(InForce(), "fair");
  EXPECT_THAT(cluster_->control().scheduler().ReliefLine(), HasSubstr(missing_));
  ExpectAllSucceed();
}

TEST_F(ExternalTest, AMasterThatStartsAgainStartsTheProgramAgainAndTellsItEverything) {
  Start("external:last.py");
  for (int i = 0; i < 4; ++i) cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
  Advance(5);
  cluster_->RestartMaster();
  Advance(5);
  EXPECT_EQ(started_.size(), 2u);
  EXPECT_EQ(alive_, 1);
  EXPECT_EQ(last_.wholes, 1);
  EXPECT_GE(last_.jobs.size(), 1u);
  ExpectAllSucceed();
  ExpectReplays();
}

// Its question goes on its way, and then another policy is in force.
TEST_F(ExternalTest, AnAnswerThatComesTooLateIsNobodys) {
  Start("external:last.py");
  Advance(1);
  cluster_->Submit("/in/ten", "/out/0", 1);
  cluster_->Submit("/in/ten", "/out/1", 1);
  cluster_->Advance(0.1);
  auto then = background_.Work();
  ASSERT_FALSE(then.empty());
  const std::size_t answered = cluster_->JournalLines("PolicyAnswered");
  ASSERT_TRUE(Set("fifo", std::nullopt).ok());
  cluster_->Advance(0.1);
  for (const auto& take : then) take();
  Advance(1);
  EXPECT_EQ(alive_, 0);
  ExpectAllSucceed();
  EXPECT_EQ(cluster_->JournalLines("PolicyAnswered"), answered);
  ExpectReplays();
}

// The same program, but its answer is to a question of the policy before.
TEST_F(ExternalTest, AnAnswerToThePolicyBeforeIsNotTheNextOnes) {
  Start("external:last.py");
  Advance(1);
  for (int i = 0; i < 3; ++i) cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
  std::deque<std::function<void()>> then;
  for (int i = 0; i < 200 && then.empty(); ++i) {
    cluster_->Advance(0.05);
    then = background_.Work();
  }
  ASSERT_FALSE(then.empty());
  cluster_->WriteSettings("[external]\ninterval = \"1s\"\n");
  cluster_->Advance(2);
  const std::size_t answered = cluster_->JournalLines("PolicyAnswered");
  for (const auto& take : then) take();
  EXPECT_EQ(cluster_->JournalLines("PolicyAnswered"), answered);
  ExpectAllSucceed();
  EXPECT_EQ(InForce(), "external");
  ExpectReplays();
}

// The program knows the jobs already, but the new policy does not know what it was told.
TEST_F(ExternalTest, OtherSettingsKeepTheProgramAndTellItEverythingAgain) {
  Start("external:last.py");
  for (int i = 0; i < 4; ++i) cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
  Advance(5);
  cluster_->WriteSettings("[external]\ninterval = \"1s\"\n");
  Advance(5);
  EXPECT_EQ(started_.size(), 1u);
  EXPECT_EQ(last_.wholes, 2);
  ExpectAllSucceed();
  ExpectReplays();
}

TEST_F(ExternalTest, WhatIsSetIsStartedFirst) {
  Start("fifo");
  cluster_->Submit("/in/ten", "/out/0", 1);
  master::SchedulerProgram& program = cluster_->control().program();
  std::optional<Kind> kind;
  std::string failed;
  const auto admit = [&](const std::string& name) {
    return program.Admit(name)
        .then([&](Kind k) { kind = k; }, [&](kj::Exception&& why) { failed = why.getDescription().cStr(); })
        .eagerlyEvaluate(nullptr);
  };
  missing_ = "no such file";
  auto first = admit("gone.py");
  Advance(0.2);
  EXPECT_THAT(failed, HasSubstr("no such file"));
  EXPECT_EQ(InForce(), "fifo");
  EXPECT_EQ(cluster_->control().scheduler().relief(), std::nullopt);
  missing_.clear();
  kind_ = kAssignment;
  auto second = admit("last.py");
  Advance(0.2);
  ASSERT_EQ(kind, kAssignment);
  ASSERT_TRUE(Set("external:last.py+delay", master::SchedulerChoice::Program{"sjf", *kind}).ok());
  Advance(1, 0.001);
  EXPECT_EQ(started_, (std::vector<std::string>{"gone.py", "last.py"})) << "it is the one that was admitted";
  EXPECT_EQ(cluster_->control().scheduler().settings().Of<sched::ExternalSettings>().fallback, "sjf");
  cluster_->RestartMaster();
  Advance(1, 0.001);
  EXPECT_EQ(InForce(), "external+delay");
  EXPECT_EQ(cluster_->control().scheduler().settings().Of<sched::ExternalSettings>().fallback, "sjf");
  ExpectAllSucceed(0.001);
  ExpectReplays();
}

TEST_F(ExternalTest, NamesOfProgramsAreNamesOfFiles) {
  Start("fifo");
  for (const std::string name : {"external", "external:", "external:../x", "external:/bin/sh", "external:.x",
                                 "external:a/b+delay", "external:x+nonsense/y"}) {
    const auto terms = cluster_->control().scheduler().TermsOf(name, "");
    EXPECT_EQ(terms.status().code(), StatusCode::kInvalid) << name;
  }
  EXPECT_EQ(cluster_->control().scheduler().TermsOf("external:x", "nonsense").status().code(), StatusCode::kInvalid);
  EXPECT_EQ(cluster_->control().scheduler().TermsOf("fair", "fifo").status().code(), StatusCode::kInvalid);
  const auto terms = cluster_->control().scheduler().TermsOf("external:x.py+delay", "sjf");
  ASSERT_TRUE(terms.ok()) << terms.status().message();
  EXPECT_EQ((*terms)->program, "x.py");
  EXPECT_EQ((*terms)->fallback, "sjf");
}

// While somebody tries another program, the one in force waits for it, and is not blamed.
TEST_F(ExternalTest, WhatAnotherProgramTakesToStartIsNotItsFault) {
  kind_ = kAssignment;
  Start("external:last.py", "[external]\ntolerate = 0\n");
  Advance(1, 0.001);
  for (int i = 0; i < 3; ++i) cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
  auto other = cluster_->control().program().Admit("other.py").then([](Kind) {}).eagerlyEvaluate(nullptr);
  cluster_->Advance(15);
  EXPECT_EQ(InForce(), "external");
  ExpectAllSucceed(0.001);
  EXPECT_EQ(InForce(), "external");
  ExpectReplays();
}

// Changes wait for room, and so do answers and reliefs.
TEST_F(ExternalTest, WithoutRoomOnTheDiskNothingIsDecided) {
  Start("external:last.py");
  for (int i = 0; i < 4; ++i) cluster_->Submit("/in/ten", "/out/" + std::to_string(i), 1);
  Advance(3);
  std::deque<std::function<void()>> then;
  for (int i = 0; i < 200 && then.empty(); ++i) {
    cluster_->Advance(0.05);
    then = background_.Work();
  }
  ASSERT_FALSE(then.empty()) << "a question was answered";
  cluster_->SetFree(0);
  cluster_->Advance(1);
  const std::string facts = Facts();
  for (const auto& take : then) take();
  Advance(5);
  EXPECT_EQ(Facts(), facts) << "the answer waits";
  const std::size_t lines = cluster_->Journal().size();
  wits_ = [](Mirror&, std::uint64_t) { return Unavailable("gone"); };
  Advance(20);
  EXPECT_EQ(cluster_->Journal().size(), lines);
  EXPECT_EQ(InForce(), "external");
  cluster_->SetFree(std::uint64_t{1} << 40);
  Advance(30);
  EXPECT_EQ(InForce(), "fair");
  ExpectAllSucceed();
}

// Programs that say what comes to their mind, with masters that end and settings that change.
TEST_F(ExternalTest, WhateverAProgramSaysEveryJobEndsAndTheJournalReplays) {
  const char* given = ::getenv("MILLRACE_TEST_SEEDS");
  const int seeds = given == nullptr ? 12 : std::atoi(given);
  const std::uint64_t base = given == nullptr ? SeedFromSystem() % 1'000'000 : 1;
  for (int n = 0; n < seeds; ++n) {
    const std::uint64_t seed = base + static_cast<std::uint64_t>(n);
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    kind_ = random.Below(2) == 0 ? kRanking : kAssignment;
    const double piece = kind_ == kRanking ? 0.05 : 0.002;
    wits_ = [&random](Mirror& mirror, std::uint64_t question) -> Result<std::string> {
      if (random.Below(300) == 0) return Unavailable("it has ended");
      if (random.Below(300) == 0) return std::string("garbage\n");
      std::string text = random.Below(3) == 0 ? "" : mirror.LastFirst();
      if (!mirror.jobs.empty() && random.Below(3) == 0)
        text += "launch kind=map job=" + mirror.jobs[random.Below(mirror.jobs.size())] + " node=n" +
                std::to_string(random.Below(5)) + "\n";
      if (!mirror.jobs.empty() && random.Below(20) == 0)
        text += "preempt kind=map job=" + mirror.jobs[random.Below(mirror.jobs.size())] + "\n";
      if (random.Below(10) == 0) text += "wake at=" + std::to_string(question * 1'000'000) + "\n";
      return text;
    };
    static constexpr const char* kParts[] = {"", "+delay", "+ccs", "+delay+ccs"};
    Start(std::string("external:any.py") + kParts[random.Below(4)],
          "[external]\ntolerate = " + std::to_string(random.Below(2) == 0 ? 1000000 : random.Below(50)) + "\n", seed);
    for (int i = 0; i < 8; ++i) {
      cluster_->Submit(random.Below(2) == 0 ? "/in/ten" : "/in/one", "/out/" + std::to_string(i),
                       static_cast<std::uint32_t>(random.Below(3)));
      Advance(random.Unit() * 4, piece);
      if (random.Below(8) == 0) cluster_->RestartMaster();
      if (random.Below(8) == 0)
        cluster_->WriteSettings("[external]\ntolerate = 1000000\nlimit = \"" + std::to_string(random.Below(20)) +
                                "ms\"\n");
    }
    ExpectAllSucceed(piece);
    ExpectReplays();
    cluster_.reset();
    background_.Finish();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace millrace
