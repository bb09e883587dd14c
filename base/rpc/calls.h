// SPDX-License-Identifier: Apache-2.0
// Bounds of calls: WithDeadline for one call, so that a stopped peer does not hold its caller for ever; CallGate for
// the calls in flight to one peer; AllowCancellation for a call that is served. Thread rule: the control thread.
#pragma once

#include <capnp/common.h>
#include <kj/async.h>
#include <kj/exception.h>
#include <kj/timer.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/rpc/status_codec.h"

namespace millrace::rpc {

// Lets a served call end, wherever it waits, when its caller hangs up or drops it. From Cap'n Proto 1.0 on only the
// schema decides this, so the method must be marked `$Calls.allowCancellation` there, too
// (base/protocol/capnp-1/cancellation.capnp).
template <typename Context>
void AllowCancellation([[maybe_unused]] Context& context) {
#if CAPNP_VERSION < 1000000
  context.allowCancellation();
#endif
}

[[nodiscard]] kj::Exception DeadlinePassed(const std::string& what, kj::Duration limit);

// Returns `promise`, except that it rejects once `limit` has passed. FromException reads the rejection as kTimeout:
// "what: no answer within 10 s".
template <class T>
kj::Promise<T> WithDeadline(kj::Timer& timer, kj::Duration limit, std::string what, kj::Promise<T> promise) {
  return promise.exclusiveJoin(timer.afterDelay(limit).then(
      [what = std::move(what), limit]() -> kj::Promise<T> { return DeadlinePassed(what, limit); }));
}

// CallGate: a cap on the calls in flight to one peer. A peer that has stopped answering would otherwise make the sender
// queue without limit. Thread rule: the control thread.
class CallGate {
 public:
  // Room for one call. Destroying it gives the room back. It may outlive the gate.
  class Pass {
   public:
    Pass(Pass&& other) noexcept = default;
    Pass& operator=(Pass&& other) = delete;
    ~Pass() {
      if (in_flight_) --*in_flight_;
    }

   private:
    friend class CallGate;
    explicit Pass(std::shared_ptr<std::size_t> in_flight) : in_flight_(std::move(in_flight)) { ++*in_flight_; }
    std::shared_ptr<std::size_t> in_flight_;
  };

  // Lets at most `most` calls be in flight at a time. `peer` is for messages.
  CallGate(std::string peer, std::size_t most) : peer_(std::move(peer)), most_(most) {}

  // Returns nothing if `most` calls are in flight.
  [[nodiscard]] std::optional<Pass> TryEnter() {
    if (*in_flight_ >= most_) return std::nullopt;
    return Pass(in_flight_);
  }

  // Returns the promise of `start()`, which holds a Pass until it is settled or dropped. If there is no room, the
  // returned promise rejects with kBusy and `start` is not called.
  //   gate.Call<capnp::Response<Echo::PingResults>>([&] { return request.send(); })
  template <class T, class Start>
  kj::Promise<T> Call(Start&& start) {
    auto pass = TryEnter();
    if (!pass) return ToException(Full());
    kj::Promise<T> promise = start();
    return promise.attach(*std::move(pass));
  }

  [[nodiscard]] std::size_t in_flight() const { return *in_flight_; }

 private:
  [[nodiscard]] Status Full() const {
    return Busy("call " + peer_ + ": " + std::to_string(most_) + " calls are in flight already; try again later");
  }

  std::string peer_;
  std::size_t most_;
  std::shared_ptr<std::size_t> in_flight_ = std::make_shared<std::size_t>(0);
};

}  // namespace millrace::rpc
