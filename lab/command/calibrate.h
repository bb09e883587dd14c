// SPDX-License-Identifier: Apache-2.0
// `millrace compare WORKLOAD --calibrate FILE` measures the tasks of programs where nothing else runs, and writes their
// costs into the workload file, so that its simulation means something. Thread rule: the main thread.
#pragma once

#include <cstdint>
#include <string>

#include "lab/live/live_arena.h"
#include "lab/run/sim_arena.h"

namespace millrace::compare {

struct Calibration {
  LiveOptions live;     // except for `one_by_one`
  DrawSimulation draw;  // the workload of a seed
  std::uint64_t seed = 1;
  std::string text;    // of the workload file
  std::string target;  // the file to write
};

// Runs the first job of each class with a program alone, once to warm up and then a few times more, and writes the
// file. Returns a table for people with the times of the tasks of each class. Returns kInvalid if there is no such
// class or a job does not succeed; else fails as the arena does.
[[nodiscard]] Result<std::string> Calibrate(Calibration calibration);

}  // namespace millrace::compare
