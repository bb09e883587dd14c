// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/operator.h"

#include <utility>

#include "tests/simulated/chaos/master.h"

namespace millrace::simulated {

Operator::Operator(Cluster& cluster)
    : cluster_(cluster),
      world_(cluster.world()),
      random_(world_.Fork()),
      host_(cluster.AddHost()),
      process_(world_, "operator") {
  process_.Start();
}

void Operator::Decommission(NodeId node, double seconds, std::function<void()> then) {
  const bool force = random_.Below(2) == 0;
  world_.Run([this, node, seconds, force, then = std::move(then)](kj::WaitScope& scope) {
    MasterCaller caller(world_, cluster_.network(), host_, process_);
    const Status asked = Drain(scope, caller, node, true, force);
    if (asked.ok() || asked.code() == StatusCode::kCancelled) {
      (void)Await(world_.Sleep(seconds), scope);
      TakeBack(scope, caller, node);
    }
    then();
  });
}

void Operator::Maintain(NodeId node, double seconds, std::function<void()> then) {
  const bool force = random_.Below(2) == 0, early = random_.Below(2) == 0;
  const double share = early ? random_.Unit() : 1;
  world_.Run([=, this, then = std::move(then)](kj::WaitScope& scope) {
    MasterCaller caller(world_, cluster_.network(), host_, process_);
    const auto millis = static_cast<std::uint64_t>(1 + seconds * 1000);
    const Status asked = SetMaintenance(scope, caller, node, millis, force);
    if (asked.ok() || asked.code() == StatusCode::kCancelled) (void)Await(world_.Sleep(seconds * share), scope);
    while (early && (asked.ok() || asked.code() == StatusCode::kCancelled) && !world_.failure()) {
      const Status ended = SetMaintenance(scope, caller, node, 0, false);
      if (ended.ok() || ended.code() == StatusCode::kNotFound) break;
      (void)Await(world_.Sleep(1), scope);
    }
    world_.Note("the maintenance of " + ToText(node) + (asked.ok() ? " is over" : ": " + asked.message()));
    then();
  });
}

Status Operator::SetMaintenance(kj::WaitScope& scope, MasterCaller& caller, NodeId node, std::uint64_t millis,
                                bool force) {
  using Answer = master::wire::Master::MaintainNodesResults;
  const auto answer = caller.Call<Answer>(scope, "maintain a node", [&](master::wire::Master::Client client) {
    auto request = client.maintainNodesRequest();
    request.initNodes(1).set(0, node.value);
    request.setMillis(millis);
    request.setForce(force);
    return request.send().then([](auto&& response) { return kj::mv(response); });
  });
  return answer.ok() ? Status::Ok() : answer.status();
}

void Operator::Remove(NodeId node, double seconds, Removal removal) {
  constexpr double kLongest = 8;  // seconds from the answer to the end of the machine
  const double pause = 0.1 + 1.5 * random_.Unit();
  const double hesitation = random_.Below(2) == 0 ? 0 : kLongest * random_.Unit();
  world_.Run([=, this, removal = std::move(removal)](kj::WaitScope& scope) {
    MasterCaller caller(world_, cluster_.network(), host_, process_);
    const double until = world_.seconds() + seconds;
    const Status asked = Drain(scope, caller, node, true, false);
    bool gone = false;
    if (asked.ok() || asked.code() == StatusCode::kCancelled) {
      while (!gone && world_.seconds() < until && !world_.failure()) {
        if (MayGo(scope, caller, node) == master::wire::GoState::YES) {
          removal.cleared();
          if (hesitation > 0) (void)Await(world_.Sleep(hesitation), scope);
          gone = removal.take();
          break;
        }
        (void)Await(Pause(pause, removal.watchful), scope);
      }
      gone ? Forget(scope, caller, node) : TakeBack(scope, caller, node);
    }
    removal.then();
  });
}

void Operator::Journaled() {
  for (auto& watching : std::exchange(watching_, {})) watching->fulfill();
}

kj::Promise<void> Operator::Pause(double seconds, bool watchful) {
  if (!watchful) return world_.Sleep(seconds);
  auto paf = kj::newPromiseAndFulfiller<void>();
  watching_.push_back(kj::mv(paf.fulfiller));
  return paf.promise.exclusiveJoin(world_.Sleep(seconds));
}

void Operator::TakeBack(kj::WaitScope& scope, MasterCaller& caller, NodeId node) {
  while (!world_.failure()) {
    const Status back = Drain(scope, caller, node, false, false);
    if (back.ok() || back.code() == StatusCode::kNotFound) break;
    (void)Await(world_.Sleep(1), scope);
  }
  world_.Note(ToText(node) + " is taken back into use");
}

void Operator::Forget(kj::WaitScope& scope, MasterCaller& caller, NodeId node) {
  constexpr int kMostTries = 60;
  using Answer = master::wire::Master::ForgetNodesResults;
  for (int tries = 0; tries < kMostTries && !world_.failure(); ++tries) {
    (void)Await(world_.Sleep(2), scope);
    const auto answer = caller.Call<Answer>(scope, "forget a node", [&](master::wire::Master::Client client) {
      auto request = client.forgetNodesRequest();
      request.initNodes(1).set(0, node.value);
      return request.send().then([](auto&& response) { return kj::mv(response); });
    });
    if (answer.ok() || answer.status().code() == StatusCode::kNotFound) return;
  }
}

master::wire::GoState Operator::MayGo(kj::WaitScope& scope, MasterCaller& caller, NodeId node) {
  const MasterMachine& master = cluster_.master();
  const std::uint64_t misled = master.misled_times();
  const bool wrong = master.misled();
  using Answer = master::wire::Master::MayGoResults;
  const auto answer = caller.Call<Answer>(scope, "ask whether a node may go", [&](master::wire::Master::Client client) {
    auto request = client.mayGoRequest();
    request.initNodes(1).set(0, node.value);
    return request.send().then([](auto&& response) { return kj::mv(response); });
  });
  if (wrong || master.misled() || master.misled_times() != misled) return master::wire::GoState::UNKNOWN;
  if (!answer.ok() || answer->getAnswers().size() != 1) return master::wire::GoState::UNKNOWN;
  return answer->getAnswers()[0].getState();
}

Status Operator::Drain(kj::WaitScope& scope, MasterCaller& caller, NodeId node, bool drained, bool force) {
  const MasterMachine& master = cluster_.master();
  const std::uint64_t misled = master.misled_times();
  const bool wrong = master.misled();
  using Answer = master::wire::Master::DrainNodeResults;
  const auto answer = caller.Call<Answer>(scope, "drain a node", [&](master::wire::Master::Client client) {
    auto request = client.drainNodeRequest();
    request.initNodes(1).set(0, node.value);
    request.setDrained(drained);
    request.setForce(force);
    return request.send().then([](auto&& response) { return kj::mv(response); });
  });
  if (wrong || master.misled() || master.misled_times() != misled) return Cancelled("the master was another one");
  return answer.ok() ? Status::Ok() : answer.status();
}

}  // namespace millrace::simulated
