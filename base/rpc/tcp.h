// Socket options that every control connection has, at either end, and who is at the other.
#pragma once

#include <kj/async-io.h>

#include "base/rpc/transport.h"

namespace millrace::rpc {

// TCP_NODELAY, keep-alive after 5 s of silence, TCP_USER_TIMEOUT of 20 s. Throws kj::Exception if the socket refuses.
void TuneTcp(kj::AsyncIoStream& stream);

// The peer of a connected socket; an IPv4 address inside IPv6 counts as IPv4. Throws kj::Exception if it is gone.
[[nodiscard]] Peer PeerOf(kj::AsyncIoStream& stream);

}  // namespace millrace::rpc
