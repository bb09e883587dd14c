// SPDX-License-Identifier: Apache-2.0
// Statements about jobs while a play is under way on another thread: what comes in between, and the master's end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "master/control/forecasts.h"
#include "master/control/what_helps.h"
#include "tests/fakes/held_background.h"
#include "tests/simulated/simulated_cluster.h"

namespace millrace {
namespace {

class ForecastsTest : public testing::Test {
 protected:
  ForecastsTest() {
    SimulatedOptions options;
    options.workers = 2;
    options.racks = 1;
    options.map_slots = 1;
    options.background = &background_;
    cluster_ = std::make_unique<SimulatedCluster>(options);
    cluster_->AddFile("/in/long", 400);
    cluster_->AddFile("/in/short", 1);
    // Something is known of how long tasks take.
    cluster_->Submit("/in/short", "/known", 0);
    EXPECT_TRUE(cluster_->RunUntilIdle(600));
    Settle();
    cluster_->Submit("/in/long", "/first", 0);
    cluster_->Submit("/in/short", "/second", 0);
    Settle();
  }

  // Lets the plays be made that are due.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      cluster_->Advance(2);
      background_.Finish();
    }
  }

  [[nodiscard]] master::Forecasts& forecasts() { return cluster_->control().forecasts(); }
  // Begins a play as a call does.
  void Ask() {
    asked_.push_back(forecasts().Fresh().eagerlyEvaluate(nullptr));
    EXPECT_EQ(background_.held(), 1u);
  }
  void SetScheduler(const std::string& name) {
    master::Step step = cluster_->control().steps().Begin();
    ASSERT_TRUE(cluster_->control().scheduler().Set(name, std::nullopt, &step).ok());
    cluster_->control().steps().FinishLazily(std::move(step));
  }
  // Takes what was played of the second job.
  [[nodiscard]] const sched::Statement* Second() { return forecasts().Find(kSecond); }

  static constexpr JobId kFirst{2}, kSecond{3};
  rpc::HeldBackground background_;
  std::unique_ptr<SimulatedCluster> cluster_;
  std::vector<kj::Promise<void>> asked_;
};

TEST_F(ForecastsTest, AreMadeWhenJobsHaveComeAndWhenSomebodyAsks) {
  ASSERT_NE(Second(), nullptr);
  EXPECT_TRUE(Second()->start);
  EXPECT_TRUE(Second()->end.at);
  cluster_->Advance(5);
  EXPECT_EQ(background_.held(), 0u);
  Ask();
  Ask();  // it waits for the same play
  background_.Finish();
  EXPECT_EQ(background_.held(), 0u);
  cluster_->Submit("/in/short", "/third", 0);
  cluster_->Advance(2);
  EXPECT_EQ(background_.held(), 1u);
}

TEST_F(ForecastsTest, WhoAsksOfAJobThatHasJustComeWaitsForTheNextPlay) {
  Ask();
  background_.Finish();
  cluster_->Submit("/in/short", "/third", 0);
  constexpr JobId kThird{4};
  bool told = false;
  asked_.push_back(forecasts()
                       .Fresh([this] { return forecasts().Find(kThird) == nullptr; })
                       .then([&told] { told = true; })
                       .eagerlyEvaluate(nullptr));
  cluster_->Advance(0.001);
  EXPECT_FALSE(told);
  cluster_->Advance(1.5);
  ASSERT_EQ(background_.held(), 1u);
  EXPECT_FALSE(told);
  background_.Finish();
  cluster_->Advance(0.001);
  EXPECT_TRUE(told);
  EXPECT_NE(forecasts().Find(kThird), nullptr);
  // A question that cannot be answered is not kept waiting for ever.
  told = false;
  asked_.push_back(forecasts().Fresh([] { return true; }).then([&told] { told = true; }).eagerlyEvaluate(nullptr));
  cluster_->Advance(4);
  EXPECT_TRUE(told);
}

TEST_F(ForecastsTest, AnotherSchedulerMakesThemWorthless) {
  ASSERT_NE(Second(), nullptr);
  Ask();
  const auto then = background_.Work();
  SetScheduler("capacity");
  for (const auto& take : then) take();
  EXPECT_EQ(Second(), nullptr) << "what was played under fifo is not told";
  cluster_->Advance(2);
  Ask();
  background_.Finish();
  EXPECT_NE(Second(), nullptr);
}

// Whatever is changed that no play foresees, nothing from before is told as if it still held.
TEST_F(ForecastsTest, AreTakenBackByEachChangeThatNoPlayForesees) {
  master::JobTracker& jobs = cluster_->control().jobs();
  const auto change_by = [&](const std::function<Status(master::Step*)>& change) {
    master::Step made = cluster_->control().steps().Begin();
    ASSERT_TRUE(change(&made).ok());
    cluster_->control().steps().FinishLazily(std::move(made));
  };
  cluster_->Submit("/in/short", "/third", 0);
  cluster_->Submit("/in/short", "/fourth", 0);
  constexpr JobId kThird{4}, kFourth{5};
  Settle();
  const auto first = [this] { return forecasts().Find(kFirst); };  // it runs all the time
  const std::vector<std::pair<std::string, std::function<void()>>> changes = {
      {"the priority of job3 was set", [&] { change_by([&](auto* to) { return jobs.SetPriority(kSecond, 3, to); }); }},
      {"job4 was held", [&] { change_by([&](auto* to) { return jobs.HoldJob(kThird, master::Hold::kOwner, to); }); }},
      {"job4 was released", [&] { change_by([&](auto* to) { return jobs.ReleaseJob(kThird, to); }); }},
      {"job5 was killed", [&] { change_by([&](auto* to) { return jobs.Kill(kFourth, "test", to); }); }},
      {"the scheduler was set to fair", [&] { SetScheduler("fair"); }},
      {"node 1 takes no more tasks", [&] { cluster_->Drain(1, true); }},
      {"node 1 takes tasks again", [&] { cluster_->Drain(1, false); }},
      {"node 1 was lost", [&] { cluster_->Cut(1), cluster_->Advance(120); }},
      {"node 1 came", [&] { cluster_->Mend(1), cluster_->Advance(120); }},
  };
  for (const auto& [turn, change] : changes) {
    SCOPED_TRACE(turn);
    cluster_->Advance(2);
    background_.Finish();
    Ask();
    background_.Finish();
    ASSERT_NE(first(), nullptr);
    EXPECT_EQ(forecasts().problem(), "");
    // Another play is under way when the change comes, if the change takes no time.
    cluster_->Advance(1.5);
    asked_.push_back(forecasts().Fresh().eagerlyEvaluate(nullptr));
    change();
    const Micros changed = forecasts().Now();
    EXPECT_EQ(first(), nullptr);
    EXPECT_EQ(forecasts().problem(), turn + ", and the jobs have not been played forward since");
    bool told = false;
    asked_.push_back(forecasts()
                         .Fresh([&first] { return first() == nullptr; })
                         .then([&told] { told = true; })
                         .eagerlyEvaluate(nullptr));
    background_.Finish();
    cluster_->Advance(0.001);
    EXPECT_EQ(first(), nullptr) << "the play began before";
    EXPECT_FALSE(told);
    cluster_->Advance(1.5);
    EXPECT_EQ(first(), nullptr) << "the next play is under way";
    background_.Finish();
    cluster_->Advance(0.001);
    EXPECT_TRUE(told);
    ASSERT_NE(first(), nullptr);
    EXPECT_GE(first()->made, changed);
    EXPECT_EQ(forecasts().problem(), "");
    asked_.clear();
  }
}

TEST_F(ForecastsTest, OutliveWhatEndsOrIsHeldOrIsLostInBetween) {
  Ask();
  auto then = background_.Work();
  master::Step step = cluster_->control().steps().Begin();
  ASSERT_TRUE(cluster_->control().jobs().HoldJob(kSecond, master::Hold::kOwner, &step).ok());
  cluster_->control().steps().FinishLazily(std::move(step));
  cluster_->Cut(1);
  cluster_->Advance(120);
  for (const auto& take : then) take();
  EXPECT_EQ(forecasts().Find(kFirst), nullptr) << "a node was lost in between";
  cluster_->Advance(2);
  Ask();
  background_.Finish();
  EXPECT_NE(forecasts().Find(kFirst), nullptr);
  EXPECT_EQ(Second(), nullptr) << "it is held";
  cluster_->Advance(2);
  master::Step kill = cluster_->control().steps().Begin();
  ASSERT_TRUE(cluster_->control().jobs().Kill(kFirst, "test", &kill).ok());
  ASSERT_TRUE(cluster_->control().jobs().ReleaseJob(kSecond, &kill).ok());
  cluster_->control().steps().FinishLazily(std::move(kill));
  Ask();
  then = background_.Work();
  EXPECT_TRUE(cluster_->RunUntilIdle(600));
  for (const auto& take : then) take();
  EXPECT_EQ(Second(), nullptr) << "it has ended";
}

TEST_F(ForecastsTest, TheMasterEndsWhileAPlayIsUnderWay) {
  Ask();
  asked_.clear();
  cluster_->RestartMaster();
  background_.Finish();  // the first one's play comes to nobody
  cluster_->Advance(60);
  Ask();
  background_.Finish();
  EXPECT_NE(forecasts().Find(kFirst), nullptr);
}

TEST_F(ForecastsTest, QuestionsOfWhatHelpsAreAnsweredOneAfterAnother) {
  using Answer = std::shared_ptr<const master::WhatHelps::Answer>;
  std::vector<Answer> answers;
  std::vector<kj::Promise<void>> asked;
  const auto ask = [&](JobId job) {
    auto answer = cluster_->control().what_helps().Ask({job, {"capacity"}, {}});
    if (!answer.ok()) return answer.status();
    asked.push_back(
        (*std::move(answer)).then([&](Answer&& said) { answers.push_back(said); }).eagerlyEvaluate(nullptr));
    return Status::Ok();
  };
  ASSERT_TRUE(ask(kSecond).ok());
  EXPECT_EQ(background_.held(), 1u);
  for (std::size_t i = 0; i < master::WhatHelps::kMostWaiting; ++i) ASSERT_TRUE(ask(kFirst).ok());
  EXPECT_EQ(ask(kFirst).code(), StatusCode::kUnavailable);
  EXPECT_EQ(background_.held(), 1u) << "the others wait for the first";
  while (background_.held() > 0) background_.Finish();
  cluster_->Advance(0.001);
  ASSERT_EQ(answers.size(), master::WhatHelps::kMostWaiting + 1);
  EXPECT_EQ(answers[0]->problem, "");
  ASSERT_EQ(answers[0]->what.ahead.size(), 1u);
  EXPECT_EQ(answers[0]->what.ahead[0].job, kFirst);
  ASSERT_EQ(answers[0]->labels.size(), answers[0]->what.tried.size());
  EXPECT_EQ(answers[0]->labels.back().name, "capacity");
  EXPECT_EQ(answers[0]->what.tried.back().untried, "");
  for (const JobId job : {kSecond, JobId{99}}) {
    const auto refused = cluster_->control().what_helps().Ask({job, {"fair", "nonsense"}, {}});
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalid);
    EXPECT_THAT(refused.status().message(), testing::HasSubstr("\"nonsense\"; there is: fifo"));
  }
  asked.clear();
  ASSERT_TRUE(ask(kSecond).ok());
  asked.clear();  // its caller has gone
  background_.Finish();
  ASSERT_TRUE(ask(JobId{99}).ok());
  cluster_->Advance(0.001);
  EXPECT_EQ(answers.back()->problem, "it has ended");
  EXPECT_EQ(answers.back()->made, 0) << "nothing was played";
}

}  // namespace
}  // namespace millrace
