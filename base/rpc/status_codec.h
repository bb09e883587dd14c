// SPDX-License-Identifier: Apache-2.0
// Carries a Status across Cap'n Proto: the server throws (or rejects with) a kj::Exception that holds it, and the
// client turns the exception back into the Status. Any other exception of KJ becomes kUnavailable (disconnected), kBusy
// (overloaded) or kInternal. Thread rule: any thread.
#pragma once

#include <kj/exception.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::rpc {

// Returns an exception that carries `failure`. The message may hold any bytes; it is cut off after 16 KiB, since a
// message of 1 MiB breaks the connection.
[[nodiscard]] kj::Exception ToException(const Status& failure);
[[nodiscard]] Status FromException(const kj::Exception& exception);
// Returns true if the connection itself broke, so that the call may be repeated on another connection; false if the
// server itself returned kUnavailable.
[[nodiscard]] bool ConnectionBroke(const kj::Exception& exception);

// How a server with TLS answers a call that is not in its table of rights (base/protocol/call_rights.h) begins.
inline constexpr std::string_view kUnknownCall = "a call that this version does not know";
// Returns true if the server does not know the call, since it is of an earlier release. A server with TLS says so by
// kUnknownCall, another one by KJ's own failure.
[[nodiscard]] bool IsUnknownCall(const kj::Exception& exception);

// Returns the part of a failure text of KJ that is meant for people, without source code and variables, on one line:
// "Address already in use" from "::bind(fd, ...): Address already in use; fd = 7", "the name is not found: Name or
// service not known" from "DNS lookup failed.; params.host = x; gai_strerror(status) = Name or service not known".
[[nodiscard]] std::string PlainReason(std::string_view text);

}  // namespace millrace::rpc
