// JobService serves the calls of one client about jobs (base/protocol/master.capnp). With TLS, a job is the user's
// whose certificate the client has shown, whatever the request says. Thread rule: the control thread; `control`
// outlives every connection.
#pragma once

#include "base/protocol/master.capnp.h"
#include "base/tls/peer_identity.h"

namespace millrace::master {

class Control;
[[nodiscard]] wire::JobService::Client MakeJobService(Control& control, const tls::PeerIdentity& peer = {});

}  // namespace millrace::master
