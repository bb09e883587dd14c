// Where others reach a worker: what it says itself, held against where its connection comes from. Pure but for the
// dial. Thread rule: the control thread.
#pragma once

#include <kj/timer.h>

#include <cstdint>
#include <string>

#include "base/rpc/transport.h"
#include "base/status.h"
#include "master/node_table.h"

namespace millrace::master {

// `said`: worker.host, empty when it is not set; then it is the peer's address. kInvalid, and what to set, for none at
// all and for a loopback address of another machine.
[[nodiscard]] Result<std::string> HostOfWorker(const std::string& said, const rpc::Peer& peer);

// A loopback address leads each machine to itself. kInvalid, and what to set, for a worker that has one while live
// workers run on other machines than the master's.
[[nodiscard]] Status CheckReach(const WorkerFacts& worker, const NodeTable& nodes);
// The live workers that have one, which this one on another machine cannot reach, and what to set; empty without any.
[[nodiscard]] std::string OutOfReach(const WorkerFacts& worker, const NodeTable& nodes);

// Rejects with kUnavailable, and what to set, unless host:port takes a connection within 5 s.
[[nodiscard]] kj::Promise<void> DialBack(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host,
                                         std::uint16_t port);
// Whether the machine says that nobody listens at the port; false as well when it says nothing within 5 s.
[[nodiscard]] kj::Promise<bool> IsDeserted(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host,
                                           std::uint16_t port);

}  // namespace millrace::master
