// Who would get the next slot, as the waits of a view say it. Thread rule: values.
#pragma once

#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine_trial.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

// Returns of which kinds tasks have to be tried for what the view says of busy slots and permits.
[[nodiscard]] PerKind<bool> TasksToTry(const PolicyView& view, bool untyped);

// Adds to the waits for busy slots and permits what the trials show. Nothing is added to a wait for reduce slots if the
// maps that run may let reduces of other jobs start before, nor to one for permits if reduces of other jobs may have
// copied before. `untyped`: what a task of either kind leaves is a slot for both.
void AddNextFreed(const ClusterState& state, const TriedEnds& tried, bool untyped, PolicyView* view);

}  // namespace millrace::sched
