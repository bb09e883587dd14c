// SPDX-License-Identifier: Apache-2.0
// The program `streaming`: a job whose map and reduce are other programs, as with Hadoop Streaming.
// `millrace stream` makes a copy of it that has the job's files, and the settings that are not given by -D (pack.h).
// Thread rule: the main thread.
#pragma once

#include "client/job/attempt.h"
#include "client/streaming/attempt_child.h"
#include "client/streaming/frame_attempts.h"
#include "client/streaming/stream_attempts.h"

namespace millrace::streaming {

// Returns the job of a process with these facts. Requires: the arguments outlive it.
[[nodiscard]] JobBinding BindStreaming(const ProcessFacts& facts, const InputForms& forms, FrameHost& host);

// Returns the exit status for main.
[[nodiscard]] int RunStreaming(int argc, char** argv);

}  // namespace millrace::streaming
