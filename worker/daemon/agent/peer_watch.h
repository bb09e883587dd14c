// SPDX-License-Identifier: Apache-2.0
// PeerWatch finds the workers that this worker cannot reach. To look at a peer, it connects to the port of the peer's
// bulk server and closes the connection at once. It looks when the master asks for it, and a second time as soon as a
// look has failed once, but never of its own accord. A peer to which a transfer could not connect is reported to the
// master, which asks for a look if there is such a worker. A machine that answers that nobody listens counts as
// reached, since only its worker is gone. Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/rpc/task_group.h"
#include "base/rpc/transport.h"

namespace millrace::worker {

struct PeerPlace {
  std::string host;
  std::uint16_t port = 0;
  auto operator<=>(const PeerPlace&) const = default;
};

class PeerWatch {
 public:
  // A connection that is not established after this time has failed. The kernel asks a second time after 1 s.
  static constexpr kj::Duration kLimit = 1500 * kj::MILLISECONDS;
  // A peer that has been neither looked at nor doubted for this long is forgotten. It is not lost: the master asks for
  // looks at all peers that some worker does not reach.
  static constexpr kj::Duration kKept = 30 * kj::SECONDS;
  static constexpr std::size_t kMostAtOnce = 16;  // looks; further ones wait for the next call
  static constexpr std::size_t kMostKept = 256;   // peers; further ones are not doubted

  // Calls `changed` when a peer is doubted, was not reached for the first or second time, or is reached again.
  // Requires: `timer` and `dialer` outlive this. Without a dialer, no peer is looked at.
  PeerWatch(kj::Timer& timer, rpc::Dialer* dialer, std::function<void()> changed, Log log);

  // Looks at the peer, unless a look is under way.
  void Look(const PeerPlace& peer);
  // Notes that a transfer could not connect to the peer.
  void Doubt(const PeerPlace& peer);

  struct Unreached {
    PeerPlace peer;
    std::uint32_t failures = 0;  // failed looks in a row; 0: it is only doubted
    kj::Duration since = 0 * kj::SECONDS;
  };
  // Returns the peers that were not reached the last time, or are doubted.
  [[nodiscard]] std::vector<Unreached> ListUnreached();

 private:
  struct State {
    bool looking = false;
    std::uint32_t failures = 0;
    kj::TimePoint first = kj::origin<kj::TimePoint>();  // failure
    kj::TimePoint last = kj::origin<kj::TimePoint>();   // look, or doubt
  };
  kj::Promise<void> Connect(const PeerPlace& peer);
  void Reached(const PeerPlace& peer);
  [[nodiscard]] bool Failed(const PeerPlace& peer, const std::string& why);

  kj::Timer& timer_;
  rpc::Dialer* const dialer_;
  const std::function<void()> changed_;
  const Log log_;
  std::map<PeerPlace, State> peers_;  // the peers that are being looked at, are doubted, or were not reached
  std::size_t looks_ = 0;             // under way
  rpc::TaskGroup tasks_;              // last: they use the members above
};

}  // namespace millrace::worker
