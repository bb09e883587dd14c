// SPDX-License-Identifier: Apache-2.0
// The filter of system calls (seccomp) of a task process. Calls that no job needs and that have helped processes to
// break out of confinement fail with EPERM: mounting, namespaces, tracing, kernel modules, keys, BPF, io_uring, clocks,
// and more. The list follows Docker's default profile. A refused call does not kill the process, so that a library that
// merely tries the call still works. Leases of files are refused because whoever opens a leased file waits 45 seconds
// for the holder of the lease.
//
// With Sockets::kAsked, the worker decides on the calls that determine the addresses that a socket reaches
// (worker/sandbox/socket_gate.h): socket for TCP, connect, bind and listen. Only TCP and unix sockets can be made, and
// none can be given a route. With Sockets::kNone there are pairs of unix sockets alone, which reach nobody.
//
// The kernel uses only 32 bits of an argument that is an int, whatever is in the other half of the register, and so
// does the filter. Thread rule: any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace millrace::sandbox {

enum class Sockets { kAny, kAsked, kNone };

// Returns the program for seccomp(2), as an array of sock_filter. Returns kUnimplemented, kIo, ... if libseccomp cannot
// make it.
[[nodiscard]] Result<std::string> MakeCallFilter(Sockets sockets);

}  // namespace millrace::sandbox
