// SPDX-License-Identifier: Apache-2.0
#include "lab/live/live_arena.h"

#include "base/text.h"
#include "lab/live/cluster_arena.h"
#include "lab/live/local_arena.h"

namespace millrace::compare {

Result<std::unique_ptr<Arena>> MakeLiveArena(LiveOptions options) {
  if (options.kind == "local") return LocalArena::Make(std::move(options));
  if (options.kind == "cluster" || options.kind == "testbed") return ClusterArena::Make(std::move(options));
  return Invalid(Quote(options.kind) + " is not a place for live runs; choose local, testbed or cluster");
}

}  // namespace millrace::compare
