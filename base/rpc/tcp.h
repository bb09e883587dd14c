// TuneTcp sets the socket options of every control connection, at either end; PeerOf returns the address of its peer.
#pragma once

#include <kj/async-io.h>

#include "base/rpc/transport.h"

namespace millrace::rpc {

// Sets TCP_NODELAY, keep-alive after 5 s of silence, and TCP_USER_TIMEOUT of 20 s. Throws kj::Exception if the socket
// refuses.
void TuneTcp(kj::AsyncIoStream& stream);

// Returns the peer of a connected socket; an IPv4 address inside IPv6 counts as IPv4. Throws kj::Exception if the peer
// is gone.
[[nodiscard]] Peer PeerOf(kj::AsyncIoStream& stream);

}  // namespace millrace::rpc
