// The effects that are decisions of Engine::Decide, and the events that record them in a journal. Recovery applies
// these events and does not decide again, since another policy may be in force by then. Thread rule: free functions.
#pragma once

#include <optional>
#include <variant>

#include "schedulers/events/effects.h"
#include "schedulers/events/events.h"

namespace millrace::sched {

// Returns the event that a driver journals for the effect; nothing if the effect is a consequence and not a decision.
[[nodiscard]] inline std::optional<Event> DecisionOf(const Effect& effect) {
  if (const auto* launch = std::get_if<Launch>(&effect)) return AttemptLaunched{launch->attempt, launch->node};
  if (const auto* compute = std::get_if<Compute>(&effect)) return ComputeGranted{compute->attempt};
  if (const auto* preempt = std::get_if<Preempt>(&effect)) return AttemptPreempted{preempt->attempt, preempt->reason};
  if (const auto* evict = std::get_if<Evict>(&effect)) return JobEvicted{evict->job};
  if (const auto* gives_up = std::get_if<GiveUp>(&effect)) return JobGivenUp{gives_up->job, gives_up->reason};
  return std::nullopt;
}

// Returns true if DecisionOf makes events of this type.
[[nodiscard]] inline bool IsDecision(const Event& event) {
  return std::holds_alternative<AttemptLaunched>(event) || std::holds_alternative<ComputeGranted>(event) ||
         std::holds_alternative<AttemptPreempted>(event) || std::holds_alternative<JobEvicted>(event) ||
         std::holds_alternative<JobGivenUp>(event);
}

}  // namespace millrace::sched
