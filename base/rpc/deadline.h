// WithDeadline puts a deadline on a call: a stopped peer must not hold a caller for ever.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <string>

namespace millrace::rpc {

// Returns `promise`, except that it rejects once `limit` has passed. FromException reads the rejection as kTimeout:
// "what: no answer within 10 s".
template <class T>
kj::Promise<T> WithDeadline(kj::Timer& timer, kj::Duration limit, std::string what, kj::Promise<T> promise);

}  // namespace millrace::rpc

#include "base/rpc/deadline_inl.h"
