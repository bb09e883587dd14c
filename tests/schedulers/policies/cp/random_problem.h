// SPDX-License-Identifier: Apache-2.0
// Draws small problems for tests from a random engine. Times are a few ticks, so that reference.h can play them.
#pragma once

#include <cstdint>
#include <random>

#include "schedulers/policies/cp/problem.h"

namespace millrace::sched {

struct RandomShape {
  std::uint32_t jobs = 3;
  std::uint32_t maps = 3, reduces = 2;  // the most of a job
  std::uint32_t slots = 3;              // the most of a kind
  Micros task = 9;                      // the longest time of a task
};
// Returns a problem with at least one slot of each kind. Half of the problems have the objective of the paper.
PlanProblem RandomProblem(std::mt19937_64* random, const RandomShape& shape);

}  // namespace millrace::sched
