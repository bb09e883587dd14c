// SPDX-License-Identifier: Apache-2.0
#include "lab/run/run_store.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "tests/lab/records.h"

namespace millrace::compare {
namespace {

using testing::Job;
using testing::Outcome;
using testing::Task;

RunRecord Record(const PlannedRun& run) {
  RunRecord record;
  record.run = run;
  record.outcome = Outcome({Job(0, "a", 0, 1, 4), Job(1, "b", 2, 2, 9)},
                           {Task(0, TaskKind::kMap, 0, 1, 2, 0, 4), Task(1, TaskKind::kReduce, 0, 2, 5, 6, 9)});
  record.outcome.result.samples = {{kSecond, {{1, 0}}, {{2, 1}}, {{3, 4}}, 2, 1, 0.25, 0.75}};
  record.outcome.result.jobs[1].foretold = 6 * kSecond;
  record.outcome.result.stuck = {{1, "no slot"}};
  record.outcome.result.decision_seconds = 0.125;
  record.outcome.outputs = "abc", record.outcome.disturbed = "noise", record.outcome.master_cpu_seconds = 1.5;
  record.phases = Phases{1, 2, 3, 4, 5};
  record.outcome.facts.jobs = {{"loadgen", "text", {{64, {NodeId{0}}}, {32, {}}}}, {}};
  record.outcome.facts.reads = {{NodeId{0}, NodeId{0}, 1'000}};
  return record;
}

const Conditions kConditions{{"--scheduler", "fifo,fair"}, {"the seed", "7"}};

class RunStoreTest : public ::testing::Test {
 protected:
  RunStoreTest() { design_.schedulers = 2, design_.blocks = 3, design_.seed = 7; }
  [[nodiscard]] std::string At(const std::string& name) const { return directory_.path() + "/" + name; }
  [[nodiscard]] Result<RunStore> Open(const Conditions& conditions = kConditions, bool discard = false) const {
    return RunStore::Open(At("c"), conditions, design_, 1, discard);
  }
  [[nodiscard]] PlannedRun Planned(std::uint32_t block, std::uint32_t order) const {
    return RunsOfBlock(design_, block)[order];
  }

  Design design_;
  TempDir directory_ = TempDir::Make("run-store").value();
};

TEST(RunRecordTest, ReadsBackWhatItWrote) {
  const RunRecord record = Record({2, 1, 0, true, 9, 1});
  const std::string bytes = EncodeRun(record);
  const Result<RunRecord> read = DecodeRun(bytes, "r");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(EncodeRun(*read), bytes);
  EXPECT_EQ(read->run, record.run);
  EXPECT_EQ(read->outcome.result.jobs[1].Turnaround(), 7 * kSecond);
  EXPECT_EQ(read->outcome.result.jobs[0].foretold, std::nullopt);
  EXPECT_EQ(read->outcome.result.jobs[1].foretold, 6 * kSecond);
  EXPECT_EQ(read->outcome.result.tasks[1].attempt, record.outcome.result.tasks[1].attempt);
  EXPECT_EQ(read->outcome.result.summary.mean_turnaround, record.outcome.result.summary.mean_turnaround);
  EXPECT_EQ(read->outcome.result.samples[0].pending[TaskKind::kReduce], 4u);
  EXPECT_EQ(read->outcome.disturbed, "noise");
  EXPECT_EQ(read->outcome.master_cpu_seconds, 1.5);
  EXPECT_EQ(read->phases->permit, 4);
  EXPECT_EQ(read->outcome.facts.jobs[0].program, "loadgen");
  EXPECT_EQ(read->outcome.facts.jobs[0].inputs, record.outcome.facts.jobs[0].inputs);
  EXPECT_EQ(read->outcome.facts.reads, record.outcome.facts.reads);
}

// A frame of format 1 ends where the facts would begin, one of format 2 before the nodes among them: here with these
// lists cut off, which are empty. Of attempts neither had what they needed of the cores, and of jobs no format before 4
// what was foretold; there are none.
TEST(RunRecordTest, ReadsRunsOfOlderFormats) {
  RunRecord record = Record({0, 0, 0, false, 7, 0});
  record.outcome.facts = {};
  record.outcome.result.tasks.clear(), record.outcome.result.jobs.clear(), record.outcome.result.stuck.clear();
  const std::string bytes = EncodeRun(record);
  constexpr std::size_t kHead = 8 + 4 + 4 + 8;  // magic, checksum, format, length
  for (const auto& [format, cut] : {std::pair{1U, 3U}, std::pair{2U, 1U}, std::pair{3U, 0U}}) {
    const std::string payload = bytes.substr(kHead, bytes.size() - kHead - cut);
    Encoder rest;
    rest.U32(format), rest.U64(payload.size()), rest.Raw(payload.data(), payload.size());
    Encoder frame;
    frame.Raw(bytes.data(), 8), frame.U32(Crc32c(rest.bytes())), frame.Raw(rest.bytes().data(), rest.bytes().size());
    const Result<RunRecord> read = DecodeRun(frame.bytes(), "r");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(EncodeRun(*read), bytes);
  }
}

TEST(RunRecordTest, EveryTruncationAndEveryFlippedBitIsRefused) {
  const std::string bytes = EncodeRun(Record({}));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeRun(bytes.substr(0, size), "r").ok()) << size;
  }
  EXPECT_FALSE(DecodeRun(bytes + '\0', "r").ok());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(DecodeRun(flipped, "r").ok()) << bit;
  }
}

TEST(RunRecordTest, RowsMustNameJobsThatThereAre) {
  RunRecord task = Record({}), job = Record({}), stuck = Record({});
  task.outcome.result.tasks[0].attempt.task.job = JobId{2};
  job.outcome.result.jobs[1].job = 0;
  stuck.outcome.result.stuck[0].job = 2;
  for (const RunRecord& record : {task, job, stuck}) EXPECT_FALSE(DecodeRun(EncodeRun(record), "r").ok());
}

TEST_F(RunStoreTest, RunsAreThereAgain) {
  {
    Result<RunStore> store = Open();
    ASSERT_TRUE(store.ok()) << store.status().message();
    ASSERT_TRUE(store->Add(Record(Planned(0, 1))).ok());
    ASSERT_TRUE(store->Add(Record(Planned(1, 0))).ok());
  }
  ASSERT_TRUE(WriteFileDurably(At("c/runs/0-2.run.tmp"), "half of a run").ok());  // of a crash
  Result<RunStore> store = Open();
  ASSERT_TRUE(store.ok()) << store.status().message();
  ASSERT_EQ(store->runs().size(), 2u);
  EXPECT_EQ(store->runs()[0].run, Planned(0, 1));
  EXPECT_EQ(store->runs()[1].run, Planned(1, 0));
  EXPECT_EQ(NextRun(design_, store->Made())->order, 0u);
}

TEST_F(RunStoreTest, AnotherComparisonIsRefusedAndSaysWhatDiffers) {
  ASSERT_TRUE(Open()->Add(Record(Planned(0, 0))).ok());
  Conditions other = kConditions;
  other[0].second = "fifo,cp";
  const Result<RunStore> refused = Open(other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalid);
  EXPECT_NE(refused.status().message().find("--scheduler was \"fifo,fair\" and now is \"fifo,cp\""), std::string::npos)
      << refused.status().message();
  EXPECT_EQ(Open()->runs().size(), 1u);  // nothing was touched
  EXPECT_EQ(Open(other, true)->runs().size(), 0u);
  EXPECT_FALSE(Open().ok());  // now it is the other's
}

TEST_F(RunStoreTest, ADirectoryOfSomethingElseIsRefused) {
  ASSERT_TRUE(MakeDirectories(At("c")).ok());
  ASSERT_TRUE(WriteFileDurably(At("c/thesis.tex"), "\\begin{document}").ok());
  for (const bool discard : {false, true}) EXPECT_FALSE(Open(kConditions, discard).ok());
  EXPECT_EQ(ListDirectory(At("c")).value(), std::vector<std::string>{"thesis.tex"});
}

TEST_F(RunStoreTest, ACommandThatEndedAtItsStartIsNoObstacle) {
  ASSERT_TRUE(MakeDirectories(At("c/runs")).ok());
  ASSERT_TRUE(WriteFileDurably(At("c/runs/conditions.tmp"), "").ok());
  EXPECT_TRUE(Open().ok());
}

TEST_F(RunStoreTest, OnlyOneCommandUsesADirectory) {
  const Result<RunStore> first = Open();
  const Result<RunStore> second = Open();
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("in use"), std::string::npos);
}

TEST_F(RunStoreTest, FilesThatDoNotFitAreRefused) {
  ASSERT_TRUE(Open().ok());
  const auto refused = [&](const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(WriteFileDurably(At("c/runs/" + name), bytes).ok());
    const Result<RunStore> store = Open();
    EXPECT_TRUE(RemoveTree(At("c/runs/" + name)).ok());
    EXPECT_TRUE(Open().ok());
    return store.status().message();
  };
  EXPECT_NE(refused("0-0.run", "MILLRUNS").find("checksum"), std::string::npos);
  EXPECT_NE(refused("0-1.run", EncodeRun(Record(Planned(0, 0)))).find("holds the run of 0-0.run"), std::string::npos);
  PlannedRun wrong = Planned(0, 0);
  wrong.seed = 8;
  EXPECT_NE(refused("0-0.run", EncodeRun(Record(wrong))).find("not of this comparison"), std::string::npos);
  wrong = Planned(0, 0);
  wrong.order = 3;
  EXPECT_NE(refused("0-3.run", EncodeRun(Record(wrong))).find("not of this comparison"), std::string::npos);
  RunRecord beyond = Record(Planned(0, 0));
  beyond.outcome.result.tasks[0].node = NodeId{1};  // the cluster has one node
  EXPECT_NE(refused("0-0.run", EncodeRun(beyond)).find("not of this comparison"), std::string::npos);
}

}  // namespace
}  // namespace millrace::compare
