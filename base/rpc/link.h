// Link: a connection to one server that comes back when it is asked for, with exponential back-off and jitter. A
// connection that lasted less than BackOff::limit counts as a failed attempt. The server may have several addresses
// ("one:7700,two:7700", a master and its standby): an attempt dials each in turn until one answers, beginning with the
// one that answered last.
// Thread rule: the control thread.
#pragma once

#include <capnp/capability.h>
#include <kj/async.h>
#include <kj/timer.h>

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

  // Resolves when a connection stands, now or later; rejects (kCancelled) only when the Link is destroyed. The first
  // call starts dialing; an address that does not answer within 5 s has failed. The capability is the server's
  // bootstrap; it breaks (every call is kUnavailable) with its connection, then ask again.
  [[nodiscard]] kj::Promise<capnp::Capability::Client> Connected();
  // The connection that stands, or one attempt, at once: rejects with kUnavailable naming the address, for tools that
  // should not wait.
  [[nodiscard]] kj::Promise<capnp::Capability::Client> ConnectOnce();
  // `tell` is called with the reason of each attempt of Connected() that fails.
  void OnFailure(std::function<void(const Status&)> tell);
  // Resolves when the connection that stands now breaks (or the Link is destroyed); at once if none stands.
  [[nodiscard]] kj::Promise<void> Broken();
  // Breaks the connection that stands, if any (a peer that answers nothing is as good as gone).
  void Reset();
  [[nodiscard]] const std::string& address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::rpc
