// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <variant>

#include "base/ids/ids.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

// Returns the job that the event is about; nothing if it is about nodes or schedulers. Pure. Thread rule: any thread.
[[nodiscard]] inline std::optional<JobId> JobOf(const Event& event) {
  return std::visit(
      [](const auto& e) -> std::optional<JobId> {
        if constexpr (requires { e.job; }) return e.job;
        if constexpr (requires { e.attempt.task; }) return e.attempt.task.job;
        if constexpr (requires { e.reduce.task; }) return e.reduce.task.job;
        if constexpr (requires { e.map.job; }) return e.map.job;
        return std::nullopt;
      },
      event);
}

}  // namespace millrace::sched
