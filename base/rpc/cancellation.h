// AllowCancellation makes a served call cancellable. Thread rule: the connection's KJ thread.
#pragma once

#include <capnp/common.h>

namespace millrace::rpc {

// Lets the call end, wherever it waits, when its caller hangs up or drops it. From Cap'n Proto 1.0 on only the schema
// decides this, so the method must be marked `$Calls.allowCancellation` there, too
// (base/protocol/capnp-1/cancellation.capnp).
template <typename Context>
void AllowCancellation([[maybe_unused]] Context& context) {
#if CAPNP_VERSION < 1000000
  context.allowCancellation();
#endif
}

}  // namespace millrace::rpc
