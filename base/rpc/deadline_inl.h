// The body of WithDeadline; include "base/rpc/deadline.h".
#pragma once

#include <kj/exception.h>

#include "base/rpc/deadline.h"

namespace millrace::rpc {

[[nodiscard]] kj::Exception DeadlinePassed(const std::string& what, kj::Duration limit);

template <class T>
kj::Promise<T> WithDeadline(kj::Timer& timer, kj::Duration limit, std::string what, kj::Promise<T> promise) {
  return promise.exclusiveJoin(timer.afterDelay(limit).then(
      [what = std::move(what), limit]() -> kj::Promise<T> { return DeadlinePassed(what, limit); }));
}

}  // namespace millrace::rpc
