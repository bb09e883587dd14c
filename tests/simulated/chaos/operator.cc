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
      while (true) {
        const Status back = Drain(scope, caller, node, false, false);
        if (back.ok() || back.code() == StatusCode::kNotFound) break;
        (void)Await(world_.Sleep(1), scope);
      }
      world_.Note(ToText(node) + " is taken back into use");
    }
    then();
  });
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
