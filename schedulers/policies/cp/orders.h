// SPDX-License-Identifier: Apache-2.0
// Orders of jobs that a search starts from. Pure; ties go to the lower index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "schedulers/policies/cp/evaluator.h"
#include "schedulers/policies/cp/problem.h"

namespace millrace::sched {

// The problem's jobs by index.
using JobSequence = std::vector<std::uint32_t>;

// Returns the jobs by deadline; jobs without one come last, in submit order.
[[nodiscard]] JobSequence EarliestDeadline(const PlanProblem& problem);
// Returns the jobs by slack: the deadline less the time at which the job would end with all slots to itself (`alone`,
// bound.h).
[[nodiscard]] JobSequence LeastSlack(const PlanProblem& problem, const std::vector<Micros>& alone);
// Returns the jobs by remaining work: slot time / slots, of maps and reduces together.
[[nodiscard]] JobSequence ShortestWork(const PlanProblem& problem);
// Returns first the jobs that Moore and Hodgson's rule keeps in time, by deadline, then the others, by remaining work.
[[nodiscard]] JobSequence MooreHodgson(const PlanProblem& problem);
// Returns the jobs by deadline; jobs that can no longer meet their deadline come last.
[[nodiscard]] JobSequence HopelessLast(const PlanProblem& problem, const std::vector<Micros>& alone);
// Returns the jobs by Johnson's rule for two machines: first those with less map than reduce work, by rising map work,
// then the others, by falling reduce work.
[[nodiscard]] JobSequence Johnson(const PlanProblem& problem);
// Returns the jobs, the longest waiting first.
[[nodiscard]] JobSequence Oldest(const PlanProblem& problem);
// Returns the problem's `previous` order. Each job that it does not name goes before the first job with a later
// deadline.
[[nodiscard]] JobSequence Previous(const PlanProblem& problem);

// Returns these eight orders, Previous first.
[[nodiscard]] std::vector<JobSequence> StartOrders(const PlanProblem& problem, const std::vector<Micros>& alone);

// The orders of a search in the evaluator's form, and the random moves from one to another. Pure, except for the random
// engine that is passed in.

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
