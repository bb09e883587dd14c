// SPDX-License-Identifier: Apache-2.0
// `millrace support` packs what somebody needs who is to find out what is wrong with a cluster, without secrets, into
// one archive. Each part is a file of its own. What cannot be had is named in the file MISSING and on standard error;
// the command fails only if the archive cannot be written. Thread rule: the main thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::support {

[[nodiscard]] int SupportCommand(const cli::Invocation& invocation, const cli::Words& args);

}  // namespace millrace::support
