// SPDX-License-Identifier: Apache-2.0
// Finds the address at which others reach a worker, and checks the worker's own statement against the origin of its
// connection. Pure but for the calls with a dialer. Thread rule: the control thread.
#pragma once

#include <kj/timer.h>

#include <cstdint>
#include <string>

#include "base/rpc/transport.h"
#include "base/status.h"
#include "master/cluster/node_table.h"

namespace millrace::master {

// Returns the worker's host: `said`, which is worker.host, or the peer's address if that is empty. Returns kInvalid,
// naming the setting to change, if there is neither, or if the host is a loopback address of another machine.
[[nodiscard]] Result<std::string> HostOfWorker(const std::string& said, const rpc::Peer& peer);

// Returns kInvalid, naming the setting to change, if the worker has a loopback address, which leads each machine to
// itself, while live workers run on machines other than the master's.
[[nodiscard]] Status CheckReach(const WorkerFacts& worker, const NodeTable& nodes);
// Returns a line that names the live workers with a loopback address, which this worker on another machine cannot
// reach, and the setting to change; empty if there are none.
[[nodiscard]] std::string OutOfReach(const WorkerFacts& worker, const NodeTable& nodes);

// Rejects with kUnavailable, naming the setting to change, unless host:port accepts a connection within 5 s.
[[nodiscard]] kj::Promise<void> DialBack(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host,
                                         std::uint16_t port);
// Rejects with kInvalid, naming the setting to change, unless the worker's own process answers at its address
// (kAskIncarnation in base/net). A worker of protocol level 1 cannot say which process it is, so for such a worker the
// port of any worker will do.
[[nodiscard]] kj::Promise<void> AskIncarnation(rpc::Dialer& dialer, kj::Timer& timer, const WorkerFacts& worker);
// Resolves to true if the machine reports that nobody listens at the port; to false otherwise, also if it does not
// answer within 5 s.
[[nodiscard]] kj::Promise<bool> IsDeserted(rpc::Dialer& dialer, kj::Timer& timer, const std::string& host,
                                           std::uint16_t port);

}  // namespace millrace::master
