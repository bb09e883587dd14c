// SPDX-License-Identifier: Apache-2.0
// Runs the maps and reduces of a streaming job whose child lives for many attempts (frame_child.h).
// Thread rule: the task's thread.
#pragma once

#include <memory>

#include "base/status.h"
#include "client/job/attempt.h"
#include "client/streaming/attempt_child.h"
#include "client/streaming/frame_child.h"
#include "client/streaming/stream_attempts.h"

namespace millrace::streaming {

// The child of this process, if there is one; it is started by the first attempt.
struct FrameHost {
  std::unique_ptr<FrameChild> child;
};

[[nodiscard]] Status FrameMap(FrameHost& host, const ProcessFacts& facts, const InputForms& forms, MapAttempt& attempt);
[[nodiscard]] Status FrameReduce(FrameHost& host, const ProcessFacts& facts, ReduceAttempt& attempt);

}  // namespace millrace::streaming
