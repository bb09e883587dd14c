// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/offering/small_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sched {

RunResult Play(const SmallRun& run) {
  std::string why;
  auto policy = MakePolicy(run.scheduler, run.settings, &why);
  EXPECT_NE(policy, nullptr) << why;
  Engine engine({}, std::move(policy));
  Effects effects;
  for (const NodeJoined& node : run.nodes) engine.Apply(0, node, &effects);
  for (std::uint32_t job = 0; job < run.jobs.size(); ++job)
    engine.Apply(0, JobSubmitted{{job}, run.jobs[job]}, &effects);
  RunResult result;
  std::set<std::pair<Micros, AttemptId>> ends;
  Micros now = 0;
  while (true) {
    effects.clear();
    engine.Decide(now, &effects);
    for (const Effect& effect : effects) {
      const auto* launch = std::get_if<Launch>(&effect);
      if (launch == nullptr) continue;
      ends.insert({now + run.duration(*launch), launch->attempt});
      if (launch->attempt.task.kind == TaskKind::kMap) ++result.launched_at[static_cast<int>(launch->locality)];
    }
    if (engine.state().LiveJobs().empty()) break;
    const auto wake = engine.NextWake();
    if (ends.empty() && !wake) {
      ADD_FAILURE() << "jobs live, but nothing runs and nothing is waited for";
      break;
    }
    now = ends.empty() ? *wake : wake ? std::min(*wake, ends.begin()->first) : ends.begin()->first;
    for (; !ends.empty() && ends.begin()->first == now; ends.erase(ends.begin())) {
      engine.Apply(now, AttemptSucceeded{ends.begin()->second}, &effects);
    }
  }
  result.makespan = now;
  return result;
}

}  // namespace millrace::sched
