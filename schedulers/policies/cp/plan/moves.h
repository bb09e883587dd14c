// Orders of a search as the evaluator takes them, and the random steps from one to another. Pure but for the random
// engine that is passed in.
#pragma once

#include <cstddef>
#include <random>

#include "schedulers/policies/cp/plan/evaluator.h"
#include "schedulers/policies/cp/plan/orders.h"
#include "schedulers/policies/cp/plan/plan.h"

namespace millrace::sched {

// Each job in one chunk, reduces in the order of the maps.
[[nodiscard]] PlanOrder OrderOf(const PlanProblem& problem, const JobSequence& jobs);
// The same with each chunk cut into up to `pieces` that follow each other.
[[nodiscard]] PlanOrder Split(const PlanProblem& problem, const PlanOrder& order, std::uint32_t pieces);

// Moves one job elsewhere or swaps two, maps and reduces alike. At least two chunks, one for each job. Returns how many
// leading chunks are as before.
std::size_t MoveJob(std::mt19937_64* random, PlanOrder* order);
// Moves a chunk of maps elsewhere, swaps two, shifts maps between two chunks of a job, or moves the reduces of a job.
// Returns how many leading chunks are as before.
std::size_t MoveChunk(std::mt19937_64* random, PlanOrder* order);

// The order in terms of jobs: chunks of a job that follow each other are one.
void WritePlan(const PlanProblem& problem, const PlanOrder& order, Plan* plan);

}  // namespace millrace::sched
