// SPDX-License-Identifier: Apache-2.0
#include "master/control/executables.h"

#include <gmock/gmock.h>

#include "schedulers/cluster/cluster_state.h"
#include "tests/master/tracker_fixture.h"

namespace millrace::master {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(UnusedExecutablesTest, OneIsDueWhenNobodyHasNeededItForTheWholeTime) {
  UnusedExecutables unused;
  const std::vector<std::string> there = {"/a", "/b", "/c"};
  EXPECT_THAT(unused.Due(there, {"/a"}, 0, 100), IsEmpty());
  EXPECT_THAT(unused.Due(there, {"/a", "/c"}, 60, 100), IsEmpty()) << "c is needed again";
  EXPECT_THAT(unused.Due(there, {"/a"}, 99, 100), IsEmpty());
  EXPECT_THAT(unused.Due(there, {"/a"}, 100, 100), ElementsAre("/b"));
  EXPECT_THAT(unused.Due({"/a", "/c"}, {"/a"}, 150, 100), IsEmpty());
  EXPECT_THAT(unused.Due({"/a", "/b", "/c"}, {"/a"}, 199, 100), ElementsAre("/c")) << "b has come again";
}

class NeededExecutablesTest : public TrackerFixture {};

TEST_F(NeededExecutablesTest, LiveJobsAndThoseWithFailuresNeedTheirs) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  JobRequest request = Request("/out", 0);
  request.executable.path = "/.millrace/executables/live";
  const JobId job = Submit(request);
  EXPECT_THAT(jobs->NeededExecutables(), ElementsAre("/.millrace/executables/live"));
  Step step = At();
  ASSERT_TRUE(jobs->Kill(job, "a test wants it", &step).ok());
  Finish(std::move(step));
  EXPECT_THAT(jobs->NeededExecutables(), IsEmpty()) << "nothing of it has failed";
}

TEST_F(NeededExecutablesTest, AFailedMapCanBeRunAgain) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 1, {node});
  JobRequest request = Request("/out", 0);
  request.executable.path = "/.millrace/executables/fails";
  request.max_attempts = 1;
  Submit(request);
  ASSERT_EQ(launches.size(), 1u);
  Step step = At();
  jobs->AttemptFailed(node, launches[0].attempt, false, "a test wants it", &step);
  Finish(std::move(step));
  EXPECT_TRUE(jobs->cluster().FindJob(JobId{1}) == nullptr || !jobs->cluster().FindJob(JobId{1})->alive());
  EXPECT_THAT(jobs->NeededExecutables(), ElementsAre("/.millrace/executables/fails"));
}

}  // namespace
}  // namespace millrace::master
