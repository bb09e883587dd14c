// `millrace compare WORKLOAD --calibrate FILE`: what the tasks of programs cost where nothing else runs, written into
// the workload file, so that its simulation means something. Thread rule: the main thread.
#pragma once

#include <cstdint>
#include <string>

#include "client/compare/live/live_arena.h"
#include "client/compare/sim_arena.h"

namespace millrace::compare {

struct Calibration {
  LiveOptions live;     // but for `one_by_one`
  DrawSimulation draw;  // the workload of a seed
  std::uint64_t seed = 1;
  std::string text;    // of the workload file
  std::string target;  // the file to write
};

// Runs the first job of each class with a program alone, once for the warmth and a few times more, and writes the file.
// Returns a table for people: what the tasks of each class took. kInvalid if there is no such class or a job does not
// succeed; else as the arena.
[[nodiscard]] Result<std::string> Calibrate(Calibration calibration);

}  // namespace millrace::compare
