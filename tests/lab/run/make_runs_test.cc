// SPDX-License-Identifier: Apache-2.0
#include "lab/run/make_runs.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/file.h"
#include "tests/lab/records.h"

namespace millrace::compare {
namespace {

using testing::Job;
using testing::Outcome;

// An arena whose runs are told in advance; after those all go well.
class ToldArena final : public Arena {
 public:
  [[nodiscard]] std::string Kind() const override { return "local"; }
  [[nodiscard]] std::vector<NodeRow> Nodes() const override { return {{"n0", "r0", "dc0", 1, 1}}; }
  [[nodiscard]] Result<RunOutcome> Run(const RunRequest& request) override {
    asked.push_back(request);
    RunOutcome outcome = Outcome({Job(0, "a", 0, 0, 1)}, {testing::Task(0, TaskKind::kMap, 0, 0, 0, 0, 1)});
    outcome.outputs = "the same";
    if (!told.empty()) {
      const auto change = told.front();
      told.pop_front();
      const Status failed = change(&outcome);
      if (!failed.ok()) return failed;
    }
    return outcome;
  }

  std::deque<std::function<Status(RunOutcome*)>> told;
  std::vector<RunRequest> asked;
};

Status Well(RunOutcome*) { return Status::Ok(); }
Status Disturb(RunOutcome* outcome) { return outcome->disturbed = "noise", Status::Ok(); }
Status Differ(RunOutcome* outcome) { return outcome->outputs = "other", Status::Ok(); }
Status Break(RunOutcome*) { return Unavailable("the master went away"); }
Status Cancel(RunOutcome*) { return {StatusCode::kCancelled, "interrupted"}; }
Status Refuse(RunOutcome*) { return Invalid("there is no such job"); }

class MakeRunsTest : public ::testing::Test {
 protected:
  MakeRunsTest() { design_.schedulers = 2, design_.blocks = 2; }
  [[nodiscard]] Result<Making> Make(const RunsWatch& watch = {}) {
    return MakeRuns(arena_, design_, testing::Plain({"fifo", "fair"}), store_, watch);
  }

  Design design_;
  TempDir directory_ = TempDir::Make("make-runs").value();
  RunStore store_ = RunStore::Open(directory_.path() + "/c", {}, design_, 1, false).value();
  ToldArena arena_;
};

TEST_F(MakeRunsTest, ALiveArenaWarmsUpFirstAndThatRunIsDiscarded) {
  ASSERT_EQ(Make().value(), Making::kComplete);
  EXPECT_EQ(arena_.asked.size(), 1u + 6);
  EXPECT_EQ(store_.runs().size(), 6u);
  EXPECT_EQ(store_.runs()[0].outcome.result.tasks.size(), 1u);  // rows of live runs are kept
  EXPECT_TRUE(store_.runs()[0].phases);
  EXPECT_EQ(RunsLeft(design_, store_), 0u);
}

TEST_F(MakeRunsTest, ADisturbedRunIsMadeAgain) {
  arena_.told = {Well, Disturb, Well};
  ASSERT_TRUE(Make().ok());
  EXPECT_EQ(store_.runs().size(), 7u);
  const std::vector<const RunRecord*> counting = store_.Counting(2);
  EXPECT_EQ(counting.size(), 6u);
  EXPECT_TRUE(counting[0]->outcome.disturbed.empty());
}

TEST_F(MakeRunsTest, AFailureIsTriedAgainUnlessTheRequestIsWrong) {
  arena_.told = {Well, Break, Break, Well};
  ASSERT_TRUE(Make().ok());
  arena_.told = {Break, Break, Break};
  design_.blocks = 3;
  EXPECT_FALSE(Make().ok());
  const std::size_t asked = arena_.asked.size();
  arena_.told = {Refuse};
  EXPECT_EQ(Make().status().code(), StatusCode::kInvalid);
  EXPECT_EQ(arena_.asked.size(), asked + 1);
}

TEST_F(MakeRunsTest, ACancelledRunIsAStop) {
  arena_.told = {Well, Well, Cancel};
  EXPECT_EQ(Make().value(), Making::kStopped);
  EXPECT_EQ(arena_.asked.size(), 3u);  // it is not tried again
  EXPECT_EQ(store_.runs().size(), 1u);
}

TEST_F(MakeRunsTest, RunsWhoseOutputsDifferAreRefused) {
  arena_.told = {Well, Well, Differ};
  const Result<Making> made = Make();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::kCorrupt);
  EXPECT_NE(made.status().message().find("fair"), std::string::npos) << made.status().message();
  EXPECT_EQ(store_.runs().size(), 1u);  // that run is not kept
}

TEST_F(MakeRunsTest, StopsBetweenRunsAndGoesOn) {
  RunsWatch watch;
  watch.stop = [&] { return store_.runs().size() == 2; };
  EXPECT_EQ(Make(watch).value(), Making::kStopped);
  EXPECT_EQ(RunsLeft(design_, store_), 4u);
  EXPECT_EQ(Make().value(), Making::kComplete);
  EXPECT_EQ(store_.runs().size(), 6u);
}

}  // namespace
}  // namespace millrace::compare
