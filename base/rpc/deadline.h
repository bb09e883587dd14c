// WithDeadline puts a deadline on a call: a stopped peer must not hold a caller for ever.
#pragma once

#include <kj/async.h>
#include <kj/exception.h>
#include <kj/timer.h>

#include <string>
#include <utility>

namespace millrace::rpc {

[[nodiscard]] kj::Exception DeadlinePassed(const std::string& what, kj::Duration limit);

// Returns `promise`, except that it rejects once `limit` has passed. FromException reads the rejection as kTimeout:
// "what: no answer within 10 s".
template <class T>
kj::Promise<T> WithDeadline(kj::Timer& timer, kj::Duration limit, std::string what, kj::Promise<T> promise) {
  return promise.exclusiveJoin(timer.afterDelay(limit).then(
      [what = std::move(what), limit]() -> kj::Promise<T> { return DeadlinePassed(what, limit); }));
}

}  // namespace millrace::rpc
