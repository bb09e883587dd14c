// These find the address at which others reach a worker, and check the worker's own word against the origin of its
// connection. Pure but for the calls with a dialer. Thread rule: the control thread.
#pragma once

#include <kj/timer.h>

#include <cstdint>
#include <string>

#include "base/rpc/transport.h"
#include "base/status.h"
#include "master/cluster/node_table.h"

namespace millrace::master {

// Returns the worker's host. `said` is worker.host, empty if that is not set: then the peer's address is used.
// kInvalid, with what to set, if there is neither, and for a loopback address of another machine.
[[nodiscard]] Result<std::string> HostOfWorker(const std::string& said, const rpc::Peer& peer);

// Checks a loopback address, which leads each machine to itself. kInvalid, with what to set, for a worker that has one
// while live workers run on machines other than the master's.
[[nodiscard]] Status CheckReach(const WorkerFacts& worker, const NodeTable& nodes);
// Returns a line that names the live workers with a loopback address, which this worker on another machine cannot
// reach, and what to set; empty if there are none.
[[nodiscard]] std::string OutOfReach(const WorkerFacts& worker, const NodeTable& nodes);

// Rejects with kUnavailable, and what to set, unless host:port takes a connection within 5 s.
[[nodiscard]] kj::Promise<void> DialBack(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host,
                                         std::uint16_t port);
// Rejects with kInvalid, and what to set, unless the worker's own process answers at its address (kAskIncarnation in
// base/net); a worker of protocol level 1 cannot say which process it is, so for it any worker's port will do.
[[nodiscard]] kj::Promise<void> AskIncarnation(rpc::Dialer& dialer, kj::Timer& timer, const WorkerFacts& worker);
// Resolves to true if the machine says that nobody listens at the port; to false otherwise, also when it says nothing
// within 5 s.
[[nodiscard]] kj::Promise<bool> IsDeserted(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host,
                                           std::uint16_t port);

}  // namespace millrace::master
