// Socket options that every control connection has, at either end.
#pragma once

#include <kj/async-io.h>

namespace millrace::rpc {

// TCP_NODELAY, keep-alive after 5 s of silence, TCP_USER_TIMEOUT of 20 s. Throws kj::Exception if the socket refuses.
void TuneTcp(kj::AsyncIoStream& stream);

}  // namespace millrace::rpc
