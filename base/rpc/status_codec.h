// A Status across Cap'n Proto: the server throws (or rejects with) a kj::Exception that carries it, the client turns
// what it caught back. Anything else that KJ throws becomes kUnavailable (disconnected), kBusy (overloaded) or
// kInternal. Thread rule: any thread.
#pragma once

#include <kj/exception.h>

#include "base/status.h"

namespace millrace::rpc {

// The message may hold any bytes; more than 16 KiB of it are cut off, since a message of 1 MiB breaks the connection.
[[nodiscard]] kj::Exception ToException(const Status& failure);
[[nodiscard]] Status FromException(const kj::Exception& exception);
// True if the connection itself broke, as against a server that says kUnavailable: then the call may be made again on
// another.
[[nodiscard]] bool ConnectionBroke(const kj::Exception& exception);

}  // namespace millrace::rpc
