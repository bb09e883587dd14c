// The orders of a search in the evaluator's form, and the random moves from one to another. Pure, except for the random
// engine that is passed in.
#pragma once

#include <cstddef>
#include <random>

#include "schedulers/policies/cp/plan/evaluator.h"
#include "schedulers/policies/cp/plan/orders.h"
#include "schedulers/policies/cp/plan/plan.h"

namespace millrace::sched {

// Returns the order with each job in one chunk, and reduces in the order of the maps.
[[nodiscard]] PlanOrder OrderOf(const PlanProblem& problem, const JobSequence& jobs);
// Returns the same order with each chunk cut into up to `pieces` consecutive chunks.
[[nodiscard]] PlanOrder Split(const PlanProblem& problem, const PlanOrder& order, std::uint32_t pieces);

// Moves one job elsewhere or swaps two jobs, maps and reduces alike. Returns the number of leading chunks that did not
// change. Requires: at least two chunks, one for each job.
std::size_t MoveJob(std::mt19937_64* random, PlanOrder* order);
// Moves a chunk of maps elsewhere, swaps two chunks, shifts maps between two chunks of a job, or moves the reduces of a
// job. Returns the number of leading chunks that did not change.
std::size_t MoveChunk(std::mt19937_64* random, PlanOrder* order);

// Writes the order in terms of jobs: consecutive chunks of a job become one.
void WritePlan(const PlanProblem& problem, const PlanOrder& order, Plan* plan);

}  // namespace millrace::sched
