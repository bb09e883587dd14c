// The filter of system calls (seccomp) of a task process. Calls that no job needs and that have helped processes to
// break out of confinement fail with EPERM: mounting, namespaces, tracing, kernel modules, keys, BPF, io_uring, clocks,
// and more; the list follows Docker's default profile. A refused call does not kill the process, so that a library that
// merely tries it goes on. Leases of files are refused because opening such a file waits 45 seconds for its holder.
//
// With `ask`, the worker decides on the calls that determine what a socket reaches (socket_gate.h): socket for TCP,
// connect, bind and listen. Only TCP and unix sockets can be made, and none can be given a route.
//
// The kernel takes 32 bits of an argument that is an int, whatever the other half of the register holds, and so does
// the filter. Thread rule: any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace millrace::sandbox {

// Returns the program for seccomp(2), as an array of sock_filter. kUnimplemented, kIo, ... if libseccomp cannot make
// it.
[[nodiscard]] Result<std::string> MakeCallFilter(bool ask);

}  // namespace millrace::sandbox
