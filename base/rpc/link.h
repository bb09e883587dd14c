// SPDX-License-Identifier: Apache-2.0
// Link: a connection to one server. After a break it reconnects on demand, with exponential back-off and jitter. A
// connection that lasted less than BackOff::limit counts as a failed attempt. The server may have several addresses
// ("one:7700,two:7700", a master and its standby): an attempt dials each in turn until one answers, beginning with the
// one that answered last. Thread rule: the control thread.
#pragma once

#include <capnp/capability.h>
#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/rpc/transport.h"

namespace millrace::rpc {

struct BackOff {
  kj::Duration first = 50 * kj::MILLISECONDS;
  kj::Duration limit = 2 * kj::SECONDS;  // each wait is drawn from [half, whole] of the current step
};

class Link {
 public:
  Link(Dialer& dialer, kj::Timer& timer, std::string address, Random random, BackOff back_off = {},
       ConnectionLimits limits = {});
  ~Link();

  // Returns a promise of the server's bootstrap. It resolves as soon as there is a connection, and rejects (kCancelled)
  // only when the Link is destroyed. The first call starts dialing; an address that does not answer within 5 s has
  // failed. The capability breaks with its connection: every call then fails with kUnavailable, and the caller calls
  // Connected() again.
  [[nodiscard]] kj::Promise<capnp::Capability::Client> Connected();
  // Returns the bootstrap of the connection if there is one. Otherwise makes one attempt at once. If this attempt
  // fails, the promise rejects with kUnavailable, naming the address, or with kInvalid if one side refuses the other.
  // For tools that should not wait.
  [[nodiscard]] kj::Promise<capnp::Capability::Client> ConnectOnce();
  // Calls `tell` with the reason of each failed attempt of Connected().
  void OnFailure(std::function<void(const Status&)> tell);
  // Returns a promise that resolves when the present connection breaks or the Link is destroyed; at once if there is no
  // connection.
  [[nodiscard]] kj::Promise<void> Broken();
  // Breaks the connection, if there is one. Used when the peer no longer answers.
  void Reset();
  // Returns the number of the present connection. No other connection of this link has the same number.
  [[nodiscard]] std::uint64_t connection() const;
  // Breaks the connection with this number if it is still the present one. Callers that learn of a break from a failed
  // call use this, since the link itself notices the break only after its loop has asked the operating system; until
  // then, Connected() would return the same connection.
  void Reset(std::uint64_t connection);
  [[nodiscard]] const std::string& address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::rpc
