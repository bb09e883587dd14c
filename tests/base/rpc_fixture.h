// SPDX-License-Identifier: Apache-2.0
// Parts for the tests of base/rpc: an echo service, and a loop whose time stands still until a test moves it.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <string>
#include <string_view>

#include "base/rpc/status_codec.h"
#include "base/rpc/transport.h"
#include "tests/base/echo.capnp.h"

namespace millrace::rpc {

inline kj::ArrayPtr<const kj::byte> ToData(std::string_view text) {
  return {reinterpret_cast<const kj::byte*>(text.data()), text.size()};
}
inline std::string FromData(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

class EchoServer final : public wire::Echo::Server {
 public:
  kj::Promise<void> ping(PingContext context) override {
    context.getResults().setBytes(context.getParams().getBytes());
    return kj::READY_NOW;
  }
  kj::Promise<void> fail(FailContext context) override {
    const auto code = static_cast<StatusCode>(context.getParams().getCode());
    return ToException(Status(code, FromData(context.getParams().getMessage())));
  }
  kj::Promise<void> never(NeverContext) override { return kj::NEVER_DONE; }
};

// RelayServer passes on the failures of a server behind it.
class RelayServer final : public wire::Echo::Server {
 public:
  explicit RelayServer(wire::Echo::Client next) : next_(kj::mv(next)) {}
  kj::Promise<void> fail(FailContext context) override {
    auto request = next_.failRequest();
    request.setCode(context.getParams().getCode());
    request.setMessage(context.getParams().getMessage());
    return request.send().ignoreResult();
  }

 private:
  wire::Echo::Client next_;
};

struct DrivenLoop {
  // Moves time forward by `by`, and runs everything that is due until then.
  void Advance(kj::Duration by) {
    const kj::TimePoint end = timer.now() + by;
    scope.poll();
    while (true) {
      kj::TimePoint next = end;
      KJ_IF_MAYBE (event, timer.nextEvent()) {
        next = kj::min(*event, end);
      }
      timer.advanceTo(next);
      scope.poll();
      if (next == end) return;
    }
  }

  kj::EventLoop loop;
  kj::WaitScope scope{loop};
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
};

// Returns the outcome of the promise. Requires: the promise settles without time being moved.
template <class T>
Status Outcome(kj::Promise<T> promise, kj::WaitScope& scope) {
  Status status = Internal("not settled");
  auto done = promise.then([&status](T&&) { status = Status::Ok(); },
                           [&status](kj::Exception&& why) { status = FromException(why); });
  if (done.poll(scope)) done.wait(scope);
  return status;
}

}  // namespace millrace::rpc
