// The filter of system calls (seccomp) of a task process. What no job needs and has helped to break out of confinement
// fails with EPERM: mounting, namespaces, tracing, kernel modules, keys, BPF, io_uring, clocks, and more; the list
// follows Docker's default profile. Calls are not answered by a kill, so that a library that merely tries goes on.
// Leases of files are refused because whoever opens such a file waits 45 seconds for its holder.
//
// With `ask`, the calls that decide whom a socket reaches are put to the worker (socket_gate.h): socket for TCP,
// connect, bind and listen. Other sockets than TCP and unix ones cannot be made, and none can be given a route.
//
// The kernel takes 32 bits of an argument that is an int, whatever the other half of the register says: so does the
// filter. Thread rule: any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace millrace::sandbox {

// Returns the program for seccomp(2), as an array of sock_filter. kUnimplemented, kIo, ... if libseccomp cannot make
// it.
[[nodiscard]] Result<std::string> MakeCallFilter(bool ask);

}  // namespace millrace::sandbox
