// SPDX-License-Identifier: Apache-2.0
// Network has hosts, links between them, and streams over the links. A message takes the latency of its link plus the
// time for its bytes; streams keep their order. A link can be blocked in one direction or in both. Then nothing comes
// through, and no error is reported. A stream on which bytes wait for longer than kUserTimeout breaks, as with
// TCP_USER_TIMEOUT. When a host dies, the Death decides whether bytes under way are lost, and whether its peers see the
// end or have to find out. Thread rule: one thread.
#pragma once

#include <kj/async-io.h>
#include <kj/async.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rpc/transport.h"
#include "tests/simulated/chaos/process.h"
#include "tests/simulated/chaos/world.h"

namespace millrace::simulated {

using HostId = std::uint32_t;

struct LinkQuality {
  double latency = 0.0003;  // seconds
  double jitter = 0.0002;   // the most further seconds, drawn at random
  double bytes_per_second = 1e8;
};

enum class Death {
  kDelivered,  // bytes under way arrive, then its peers see the end
  kLost,       // its peers see a reset; bytes under way are lost
  kSilent,     // the machine is gone: its peers receive nothing more
};

class Network {
 public:
  static constexpr double kUserTimeout = 20;

  Network(World& world, LinkQuality quality);
  ~Network();

  // Dialer dials from this host, for this process.
  class Dialer final : public rpc::Dialer {
   public:
    Dialer(Network& network, HostId host, Process& process) : network_(network), host_(host), process_(process) {}
    kj::Promise<kj::Own<kj::AsyncIoStream>> Dial(kj::StringPtr address) override;

   private:
    Network& network_;
    HostId host_;
    Process& process_;
  };
  void Serve(const std::string& address, HostId host, Process& process, rpc::Server& server);
  void StopServing(const std::string& address) { servers_.erase(address); }
  // Opens a port that accepts connections but sends nothing, until Close.
  void Open(const std::string& address, HostId host);
  void Close(const std::string& address, Death death);

  // Blocks everything from `from` to `to` until Unblock has been called as often as Block.
  void Block(HostId from, HostId to) { ++blocked_[{from, to}]; }
  void Unblock(HostId from, HostId to);
  void UnblockAll();
  [[nodiscard]] bool Blocked(HostId from, HostId to) const { return blocked_.contains({from, to}); }
  // Breaks every stream between the two hosts.
  void Reset(HostId a, HostId b);
  // Makes a process on the host die. Requires: the parts of the process are not destroyed yet.
  void Kill(HostId host, Death death);

  // Sends bytes outside of any stream. Resolves when they have arrived; rejects with kTimeout after `stall` seconds.
  [[nodiscard]] kj::Promise<void> Transfer(HostId from, HostId to, std::uint64_t bytes, double stall);

 private:
  struct Pipe;
  struct Connection;
  class End;
  struct Listener {
    HostId host;
    Process* process;
    rpc::Server* server;  // null: opened by Open
    std::uint64_t generation;
    bool silent = false;  // the machine is gone
  };
  [[nodiscard]] double Delay(std::uint64_t bytes);
  void Send(const std::shared_ptr<Connection>& connection, int side, kj::Array<kj::byte> bytes);
  void Deliver(const std::shared_ptr<Connection>& connection, int side);
  void Hold(const std::shared_ptr<Connection>& connection, int side);
  void Break(Connection& connection);

  World& world_;
  LinkQuality quality_;
  Random random_;
  std::map<std::string, Listener> servers_;
  std::map<std::pair<HostId, HostId>, std::uint32_t> blocked_;  // the number of blocks
  std::map<std::uint64_t, std::weak_ptr<Connection>> connections_;
  std::uint64_t next_connection_ = 0;
  std::uint64_t generation_ = 0;
};

}  // namespace millrace::simulated
