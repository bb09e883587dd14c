// Carries a Status across Cap'n Proto: the server throws (or rejects with) a kj::Exception that holds it, and the
// client turns the exception back into the Status. Any other exception of KJ becomes kUnavailable (disconnected), kBusy
// (overloaded) or kInternal. Thread rule: any thread.
#pragma once

#include <kj/exception.h>

#include "base/status.h"

namespace millrace::rpc {

// Returns an exception that carries `failure`. The message may hold any bytes; it is cut off after 16 KiB, since a
// message of 1 MiB breaks the connection.
[[nodiscard]] kj::Exception ToException(const Status& failure);
[[nodiscard]] Status FromException(const kj::Exception& exception);
// Returns true if the connection itself broke, so that the call may be repeated on another connection; false if the
// server itself returned kUnavailable.
[[nodiscard]] bool ConnectionBroke(const kj::Exception& exception);

}  // namespace millrace::rpc
