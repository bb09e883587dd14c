// The job that would get the next slot or permit, added to the waits of a view. Thread rule: values.
#pragma once

#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine_trial.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

// Returns the kinds of tasks whose ends must be tried for the view's waits for busy slots and permits.
[[nodiscard]] PerKind<bool> TasksToTry(const PolicyView& view, bool untyped);

// Adds the results of the trials to the waits for busy slots and permits. Nothing is added to a wait for reduce slots
// if running maps may let reduces of other jobs start first, nor to a wait for permits if reduces of other jobs may
// finish copying first. With `untyped`, a task of either kind leaves a slot that both kinds can use.
void AddNextFreed(const ClusterState& state, const TriedEnds& tried, bool untyped, PolicyView* view);

}  // namespace millrace::sched
