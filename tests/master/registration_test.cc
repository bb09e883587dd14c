// SPDX-License-Identifier: Apache-2.0
// A worker registers again. Plays each of its claims against each belief of the master through a real tracker, and
// checks what the database says afterwards.
#include <gmock/gmock.h>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "tests/master/tracker_fixture.h"

namespace millrace::master {
namespace {

using ::testing::IsEmpty;
using worker::Belief;
using worker::Claim;
using worker::MasterDoes;
using worker::WorkerDoes;

// The kind of task that the attempt belongs to. Not every belief is possible for each.
enum class Of { kMap, kMapOfMapOnly, kReduce };
struct Case {
  Of of;
  Claim claim;
  Belief belief;
};

bool Possible(Of of, Belief belief) {
  if (belief == Belief::kServedHere) return of == Of::kMap;
  if (belief == Belief::kStored) return of != Of::kMap;
  return true;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const Of of : {Of::kMap, Of::kMapOfMapOnly, Of::kReduce}) {
    for (std::size_t claim = 0; claim < worker::kClaims; ++claim) {
      for (std::size_t belief = 0; belief < worker::kBeliefs; ++belief) {
        const Case one{of, static_cast<Claim>(claim), static_cast<Belief>(belief)};
        if (Possible(of, one.belief)) cases.push_back(one);
      }
    }
  }
  return cases;
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  constexpr const char* kOf[] = {"Map", "MapOfMapOnly", "Reduce"};
  constexpr const char* kClaim[] = {"Running", "Done", "Failed", "Served", "Unknown"};
  constexpr const char* kBelief[] = {"RunsHere", "ServedHere", "Stored", "OtherWon", "Ended", "JobGone"};
  static_assert(std::size(kClaim) == worker::kClaims && std::size(kBelief) == worker::kBeliefs);
  return std::string(kOf[static_cast<int>(info.param.of)]) + kClaim[static_cast<int>(info.param.claim)] +
         kBelief[static_cast<int>(info.param.belief)];
}

class RegistrationTest : public TrackerFixture, public ::testing::WithParamInterface<Case> {
 protected:
  // Lets the one worker run a job of two maps and this many reduces. The attempt in question is of its first map or
  // reduce.
  LaunchOrder Begin() {
    node_ = AddWorker("a", 1, 2);
    AddFile("/in/text", 2, {node_});
    JobRequest request = Request("/out", GetParam().of == Of::kMapOfMapOnly ? 0 : 2);
    request.slow_start = 0;
    job_ = Submit(request);
    return Take(GetParam().of == Of::kReduce ? TaskKind::kReduce : TaskKind::kMap);
  }
  LaunchOrder Take(TaskKind kind) {
    const auto found = std::find_if(launches.begin(), launches.end(), [&](const LaunchOrder& launch) {
      return launch.attempt.task.kind == kind && launch.attempt.task.index == 0;
    });
    EXPECT_NE(found, launches.end());
    const LaunchOrder launch = *found;
    launches.erase(found);
    return launch;
  }
  void Succeed(const LaunchOrder& launch) {
    if (GetParam().of == Of::kMap) return Done(launch);
    Done(launch, WriteOutput(launch.attempt, "part"));
  }
  void Lose(const LaunchOrder& launch) {
    Step step = At();
    jobs->AttemptFailed(launch.node, launch.attempt, true, "a test wants it", &step);
    Finish(std::move(step));
  }
  // Makes the master believe this of the attempt.
  AttemptId Believe(Belief belief) {
    const LaunchOrder launch = Begin();
    switch (belief) {
      case Belief::kRunsHere:
        break;
      case Belief::kServedHere:
      case Belief::kStored:
        Succeed(launch);
        break;
      case Belief::kOtherWon:
        Lose(launch);
        Succeed(Take(launch.attempt.task.kind));
        break;
      case Belief::kEnded:
        Lose(launch);
        break;
      case Belief::kJobGone: {
        Step step = At();
        EXPECT_TRUE(jobs->Kill(job_, "a test wants it", &step).ok());
        Finish(std::move(step));
        break;
      }
    }
    return launch.attempt;
  }
  JobTracker::Reconciled Register(const AttemptId& attempt, Claim claim) {
    Claims claims;
    // What else is there is in step on both sides.
    const sched::NodeState* node = jobs->cluster().FindNode(node_);  // null after a restart without jobs
    for (const AttemptId& other : node == nullptr ? std::vector<AttemptId>() : node->running) {
      if (other != attempt) claims.running.push_back(other);
    }
    if (const sched::JobState* job = jobs->cluster().FindJob(job_); job != nullptr && job->alive()) {
      const sched::TaskState& map = job->maps[0];
      const AttemptId winner{{job_, TaskKind::kMap, 0}, map.winner};
      if (map.done && job->progress.reduces > 0 && winner != attempt) claims.served.push_back(winner);
    }
    if (claim == Claim::kRunning) claims.running.push_back(attempt);
    if (claim == Claim::kDone) claims.done.push_back(attempt);
    if (claim == Claim::kFailed) claims.failed.push_back(attempt);
    if (claim == Claim::kServed) claims.served.push_back(attempt);
    Step step = At();
    const JobTracker::Reconciled answer = jobs->NodeRegistered(*nodes->Find(node_), claims, &step);
    EXPECT_TRUE(store->Write(step.batch, Durability::kSynced).ok());  // nothing is decided yet
    return answer;
  }
  // Returns the state in the engine: "running", "done" or "pending".
  std::string StateOf(const AttemptId& attempt) {
    const sched::JobState* job = jobs->cluster().FindJob(attempt.task.job);
    if (job == nullptr || !job->alive()) return "no job";
    const sched::TaskState& task = job->Tasks(attempt.task.kind)[attempt.task.index];
    if (task.done) return "done by " + std::to_string(task.winner);
    return task.Find(attempt.number) != nullptr ? "running" : "does not run";
  }

  NodeId node_;
  JobId job_;
};

TEST_P(RegistrationTest, BothSidesAgreeAfterwardsAndSoDoesTheJournal) {
  const auto [of, claim, belief] = GetParam();
  const AttemptId attempt = Believe(belief);
  const std::string before = StateOf(attempt);
  const JobTracker::Reconciled answer = Register(attempt, claim);
  const worker::Settlement settled = worker::Settle(claim, belief);

  EXPECT_EQ(answer.killed, settled.worker == WorkerDoes::kDrop ? std::vector{attempt} : std::vector<AttemptId>());
  EXPECT_EQ(answer.settled, settled.worker == WorkerDoes::kSettle ? std::vector{attempt} : std::vector<AttemptId>());
  EXPECT_EQ(answer.forgotten, settled.worker == WorkerDoes::kForgetJob ? std::vector{job_} : std::vector<JobId>());
  EXPECT_EQ(StateOf(attempt), settled.master == MasterDoes::kNothing ? before : "does not run");

  // Checks that the worker goes on with exactly what the master counts on.
  const bool runs_there = settled.worker == WorkerDoes::kNothing && claim == Claim::kRunning;
  const bool serves = (settled.worker == WorkerDoes::kNothing && claim == Claim::kServed) ||
                      (settled.worker == WorkerDoes::kSettle && of == Of::kMap);
  const bool tells = settled.worker == WorkerDoes::kNothing && (claim == Claim::kDone || claim == Claim::kFailed);
  EXPECT_EQ(StateOf(attempt) == "running", runs_there || tells) << "an attempt of one side alone never ends";
  if (of == Of::kMap) {
    EXPECT_EQ(StateOf(attempt) == "done by " + std::to_string(attempt.number), serves)
        << "an output of one side alone is waited for, or lies about, for ever";
  }

  const std::string after = StateOf(attempt);
  Restart();
  EXPECT_EQ(StateOf(attempt), after) << "the replay says otherwise";
  const JobTracker::Reconciled again = Register(attempt, runs_there ? Claim::kRunning
                                                         : serves   ? Claim::kServed
                                                         : tells    ? claim
                                                                    : Claim::kUnknown);
  EXPECT_THAT(again.killed, IsEmpty()) << "a second registration finds nothing to settle";
  EXPECT_THAT(again.settled, IsEmpty());
  EXPECT_EQ(StateOf(attempt), after);
}

INSTANTIATE_TEST_SUITE_P(All, RegistrationTest, ::testing::ValuesIn(AllCases()), NameOf);

class LateReportTest : public TrackerFixture {};

// The report crossed the message that killed the attempt: its output would be left until the job ends.
TEST_F(LateReportTest, OfAnAttemptThatIsNotWantedDropsItsOutput) {
  const NodeId node = AddWorker("a", 1, 1);
  AddFile("/in/text", 2, {node});
  Submit(Request("/out", 1));
  const LaunchOrder first = launches.at(0);
  Step step = At();
  jobs->AttemptFailed(node, first.attempt, true, "a test wants it", &step);
  Finish(std::move(step));
  kills.clear();
  Done(first);
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].attempt, first.attempt);
  Done(launches.back());
  kills.clear();
  Done(launches.at(1));
  EXPECT_THAT(kills, IsEmpty()) << "a repeated report of the one that counts";
}

}  // namespace
}  // namespace millrace::master
