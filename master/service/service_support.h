// What the master's services share: they turn failures into exceptions, at the one border where these may be thrown.
#pragma once

#include <kj/exception.h>

#include <utility>

#include "base/rpc/status_codec.h"
#include "base/status.h"

namespace millrace::master {

// Rejects the call with this failure; does nothing if the status is OK.
inline void Require(const Status& status) {
  if (!status.ok()) kj::throwFatalException(rpc::ToException(status));
}
template <class T>
T Require(Result<T> result) {
  if (!result.ok()) kj::throwFatalException(rpc::ToException(result.status()));
  return std::move(result).value();
}

}  // namespace millrace::master
