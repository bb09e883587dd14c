// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/simulation.h"

#include "tests/simulated/chaos/checker.h"
#include "tests/simulated/chaos/clients.h"
#include "tests/simulated/chaos/cluster.h"
#include "tests/simulated/chaos/faults.h"
#include "tests/simulated/chaos/master.h"
#include "tests/simulated/chaos/shared_names.h"
#include "tests/simulated/chaos/worker.h"
#include "tests/simulated/chaos/world.h"

namespace millrace::simulated {
namespace {

constexpr double kLookEvery = 1;   // seconds
constexpr double kCheckEvery = 5;  // the same, at what costs more

void LookNowAndThen(Cluster& cluster) {
  cluster.checker().CheckAgreement();
  cluster.checker().CheckAiling();
  cluster.world().Do(kLookEvery, [&cluster] { LookNowAndThen(cluster); });
}

void CheckNowAndThen(Cluster& cluster) {
  cluster.checker().CheckReplay();
  cluster.checker().CheckSlots();
  cluster.world().Do(kCheckEvery, [&cluster] { CheckNowAndThen(cluster); });
}

// Until the faults are over, so that it must come to an end as well. Blocks are small, and a worker's disk is not.
void BalanceNowAndThen(Cluster& cluster) {
  constexpr double kPause = 7;  // seconds
  constexpr double kThreshold = 1e-10;
  if (cluster.faults().over()) return;
  if (master::Control* control = cluster.master().control()) control->replicas().StartBalance(kThreshold);
  cluster.world().Do(kPause, [&cluster] { BalanceNowAndThen(cluster); });
}

// Lets the clients work and the faults come, then waits for the ends.
void Run(Cluster& cluster) {
  World& world = cluster.world();
  Checker& checker = cluster.checker();
  FaultActor& faults = cluster.faults();
  constexpr double kLongest = 1800;  // faults are over by far
  world.Advance(kLongest, [&] { return faults.over(); });
  if (world.failure()) return;
  if (!faults.over()) return world.Fail("simulation", "the faults do not end");
  const auto await = [&](const std::function<bool()>& ended) {
    world.Advance(kBound, ended);
    if (!world.failure() && !ended()) {
      world.Fail("end", "after " + std::to_string(static_cast<int>(kBound)) +
                            " s without a fault these have not ended: " + checker.Waiting());
    }
    return !world.failure();
  };
  if (!await([&] { return checker.jobs_ended(); })) return;
  cluster.BringBack();
  if (!await([&] { return checker.idle(); })) return;
  constexpr double kLook = 5;
  constexpr double kOperator = 60;  // seconds until somebody looks
  std::string untidy;
  for (double waited = 0; waited < kBound; waited += kLook) {
    world.Advance(kLook);
    if (world.failure()) return;
    if (waited >= kOperator) checker.ConfirmUnknown();
    untidy = checker.Untidy();
    if (untidy.empty()) break;
  }
  if (!untidy.empty()) return world.Fail("tidy", untidy);
  checker.CheckReplay();
  checker.CheckSlots();
  checker.CheckJournal();
}

}  // namespace

Verdict Simulate(std::uint64_t seed, const std::set<Fault>& allowed, bool log) {
  const Plan& plan = *new Plan(DrawPlan(seed, allowed));
  World& world = *new World(seed, log);
  world.Note(plan.Describe());
  Cluster& cluster = *new Cluster(world, plan);
  world.Advance(1);
  for (std::uint32_t n = 0; n < plan.clients; ++n) (new Client(cluster, n))->Start();
  if (plan.onlookers > 0) (new SharedNames(cluster, plan.onlookers))->Start();
  cluster.faults().Start();
  LookNowAndThen(cluster);
  CheckNowAndThen(cluster);
  if (plan.balances) BalanceNowAndThen(cluster);
  Run(cluster);
  if (log && world.failure()) cluster.checker().NoteJournal();
  return {world.failure().value_or(""), world.record(), world.seconds(), world.events(), cluster.checker().count()};
}

}  // namespace millrace::simulated
