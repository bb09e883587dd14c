#include "master/cluster/worker_address.h"

#include "base/loopback.h"
#include "base/rpc/deadline.h"
#include "base/rpc/status_codec.h"

namespace millrace::master {
namespace {

constexpr kj::Duration kDialLimit = 5 * kj::SECONDS;

kj::Promise<void> Reach(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host, std::uint16_t port) {
  const std::string address =
      (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
  auto dialed = kj::evalNow([&] { return dialer.Dial(address.c_str()); });
  return rpc::WithDeadline(timer, kDialLimit, "connect to " + address, kj::mv(dialed)).ignoreResult();
}

}  // namespace

Result<std::string> HostOfWorker(const std::string& said, const rpc::Peer& peer) {
  if (said.empty() && peer.address.empty()) return Invalid("the worker gives no host; set worker.host");
  if (said.empty()) return peer.address;
  if (IsLoopbackHost(said) && !peer.address.empty() && !peer.loopback) {
    return Invalid("worker.host is " + said + ", but the worker is at " + peer.address +
                   ", another machine; leave worker.host unset, or set it to what other machines reach");
  }
  return said;
}

Status CheckReach(const WorkerFacts& worker, const NodeTable& nodes) {
  if (!IsLoopbackHost(worker.host)) return Status::Ok();
  for (const auto& [number, node] : nodes.all()) {
    if (!node.alive || !node.facts.remote || node.facts.storage == worker.storage) continue;
    return Invalid("the worker is known as " + worker.host + ", where worker " + std::to_string(number.value) + " at " +
                   node.facts.host + " cannot reach it; set worker.host to what other machines reach");
  }
  return Status::Ok();
}

std::string OutOfReach(const WorkerFacts& worker, const NodeTable& nodes) {
  std::string names;
  for (const auto& [number, node] : nodes.all()) {
    if (!worker.remote || !node.alive || !IsLoopbackHost(node.facts.host)) continue;
    names += (names.empty() ? "" : ", ") + std::to_string(number.value) + " (" + node.facts.host + ")";
  }
  if (names.empty()) return {};
  return "the worker at " + worker.host + ", on another machine, cannot reach these workers of this one: " + names +
         "; set their worker.host to what other machines reach and start them again";
}

kj::Promise<void> DialBack(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host, std::uint16_t port) {
  return Reach(dialer, timer, host, port).catch_([](kj::Exception&& why) -> kj::Promise<void> {
    return rpc::ToException(
        Unavailable("the master cannot reach the worker's port: " + rpc::FromException(why).message() +
                    "; set worker.bind to 0.0.0.0 and worker.host to what other machines "
                    "reach, and see that no firewall is in between"));
  });
}

kj::Promise<bool> IsDeserted(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host, std::uint16_t port) {
  return Reach(dialer, timer, host, port)
      .then([] { return false; }, [](kj::Exception&& why) { return rpc::SaysNobodyListens(why); });
}

}  // namespace millrace::master
