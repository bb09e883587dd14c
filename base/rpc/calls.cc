// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/calls.h"

#include "base/rpc/status_codec.h"
#include "base/units.h"

namespace millrace::rpc {

kj::Exception DeadlinePassed(const std::string& what, kj::Duration limit) {
  return ToException(Timeout(what + ": no answer within " + FormatDuration(limit / kj::MICROSECONDS)));
}

}  // namespace millrace::rpc
