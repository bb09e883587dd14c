// SPDX-License-Identifier: Apache-2.0
// What was foretold of jobs, and came true or not, in the master's store: it outlives the process, and gets into the
// way of no other part that has its records there.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tests/master/tracker_fixture.h"

namespace millrace::master {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// What the keys of each part begin with, or are. A part reads all keys that begin so, so none may begin another.
constexpr std::array<std::string_view, 16> kParts = {
    "e/",         // master/jobs/journal.h
    "f/",         // dfs/name/namespace_codec.h, entries
    "h/",         // master/jobs/job_tracker.h, the history of programs
    "j/",         // master/jobs/job_record.h
    "l/",         // master/jobs/lost_jobs.h
    "m/",         // master/jobs/job_table.h, failed maps
    "o/",         // dfs/name/namespace_codec.h, open files
    "p/",         // master/jobs/job_tracker.h, what was foretold
    "q/",         // dfs/name/namespace_codec.h, quotas
    "s/",         // master/jobs/job_record.h, splits
    "t/",         // master/jobs/job_record.h, tasks
    "w/",         // master/cluster/node_table.h
    "x/",         // master/cluster/removed_blocks.h
    "cluster",    // master/control/cluster_record.h
    "gaps",       // master/jobs/lost_jobs.h
    "scheduler",  // master/control/scheduler_choice.h
};

class ForetoldRecordsTest : public TrackerFixture {
 protected:
  // Says of the job that it starts and ends in a second.
  void Say(JobId job) {
    const sched::JobState& state = *jobs->cluster().FindJob(job);
    sched::Statement statement;
    statement.job = job;
    statement.made = now;
    const auto said = [&](sched::Foretold what) { return sched::Said{now + kSecond, {}, what, {}}; };
    if (!state.started) statement.start = said(sched::Foretold::kStart);
    statement.end = said(state.started ? sched::Foretold::kEndOfRunning : sched::Foretold::kEndOfWaiting);
    jobs->NoteStatements({statement}, "fifo", {});
  }
  void EndAll() {
    while (!launches.empty()) {
      const LaunchOrder next = launches.front();
      launches.erase(launches.begin());
      Done(next, WriteOutput(next.attempt, "part-m-" + std::to_string(next.attempt.task.index)));
    }
  }
  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    EXPECT_TRUE(store
                    ->Scan("", {},
                           [&](std::string_view key, std::string_view) {
                             keys.emplace_back(key);
                             return true;
                           })
                    .ok());
    return keys;
  }
  std::uint32_t Records(sched::Foretold what) const {
    sched::ForetoldRecord asked;
    asked.what = what;
    return jobs->forecaster().intervals().Around(asked).records;
  }
};

TEST_F(ForetoldRecordsTest, OutliveTheProcessBesideAllElse) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId first = Submit(Request("/one", 0));
  const JobId second = Submit(Request("/two", 0));
  Say(first);
  Say(second);
  EndAll();
  ASSERT_THAT(ended, ElementsAre(first, second));
  EXPECT_EQ(Records(sched::Foretold::kStart), 1u) << "the first had started";
  EXPECT_EQ(Records(sched::Foretold::kEndOfWaiting), 1u);
  EXPECT_EQ(Records(sched::Foretold::kEndOfRunning), 1u);
  Restart();  // every part reads its records
  EXPECT_EQ(Records(sched::Foretold::kStart), 1u);
  EXPECT_EQ(Records(sched::Foretold::kEndOfWaiting), 1u);
  EXPECT_EQ(Records(sched::Foretold::kEndOfRunning), 1u);
  EXPECT_TRUE(Exists("/one/_SUCCESS"));
  EXPECT_TRUE(Exists("/two/_SUCCESS"));
}

TEST_F(ForetoldRecordsTest, NoPartReadsTheKeysOfAnother) {
  for (const std::string_view part : kParts) {
    for (const std::string_view other : kParts)
      EXPECT_TRUE(part.data() == other.data() || !other.starts_with(part)) << part << " begins " << other;
  }
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  const JobId job = Submit(Request("/one", 0));
  Say(job);
  EndAll();
  Submit(Request("/two", 0));
  const std::vector<std::string> keys = Keys();
  for (const std::string& key : keys) {
    const auto of = std::ranges::count_if(kParts, [&](std::string_view part) { return key.starts_with(part); });
    EXPECT_TRUE(of == 1 || key.find('/') == std::string::npos) << key;  // no part reads all keys that begin so
  }
  const auto foretold = [](const std::string& key) { return key.starts_with("p/"); };
  EXPECT_EQ(std::ranges::count_if(keys, foretold), 1);
}

TEST_F(ForetoldRecordsTest, AHeldJobIsNotJudgedByWhatWasSaidBefore) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  Submit(Request("/one", 0));
  const JobId held = Submit(Request("/two", 0));
  Say(held);
  Step step = At();
  ASSERT_TRUE(jobs->HoldJob(held, Hold::kOwner, &step).ok());
  Finish(std::move(step));
  EndAll();
  now += 3600 * kSecond;
  Step later = At();
  ASSERT_TRUE(jobs->ReleaseJob(held, &later).ok());
  Finish(std::move(later));
  EndAll();
  ASSERT_THAT(ended, SizeIs(2));
  EXPECT_EQ(Records(sched::Foretold::kStart), 0u);
  EXPECT_EQ(Records(sched::Foretold::kEndOfWaiting), 0u);
}

}  // namespace
}  // namespace millrace::master
