// SPDX-License-Identifier: Apache-2.0
// Helpers of the master's services. They turn failures into exceptions here, at the only border where exceptions may be
// thrown.
#pragma once

#include <kj/exception.h>

#include <string_view>
#include <utility>

#include "base/rpc/status_codec.h"
#include "base/status.h"
#include "master/access/caller.h"

namespace millrace::master {

// Rejects the call with this failure; does nothing if the status is OK.
inline void Require(const Status& status) {
  if (!status.ok()) kj::throwFatalException(rpc::ToException(status));
}
// Calls `act`, and writes its outcome to the audit log. If `act` returns a promise, its result is not logged.
template <class Act>
auto Audited(const Caller& caller, std::string_view call, std::string_view on, Act&& act) {
  try {
    auto done = act();
    (void)caller.Audited(call, on, Status::Ok());
    return done;
  } catch (const kj::Exception& why) {
    (void)caller.Audited(call, on, rpc::FromException(why));
    throw;
  }
}
template <class T>
T Require(Result<T> result) {
  if (!result.ok()) kj::throwFatalException(rpc::ToException(result.status()));
  return std::move(result).value();
}

}  // namespace millrace::master
