// Which jobs of a worker give way when its disk fills up. Pure.
//
// A job answers for all that it has on the disk, but for outputs that are served: these were given up by whoever wrote
// them, and to stop somebody makes no room of them. The job with most goes first. If it is its attempts that have
// written most of that, the largest of them go; if not, or if not all that the job has could be looked at, all of it
// goes but what is served. Only the first job is to blame: with what it took, there would be room for the others.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::worker {

struct JobRoom {
  JobId job;
  std::uint64_t bytes = 0;                              // all that it has on the disk
  std::uint64_t served = 0;                             // of it, outputs that are served
  bool seen_whole = true;                               // false: it may have more than `bytes`
  using Attempt = std::pair<std::uint64_t, AttemptId>;  // the bytes of its own files
  std::vector<Attempt> attempts = {};
};

struct GivesWay {
  JobId job;
  bool all = false;  // or only these attempts
  std::vector<JobRoom::Attempt> attempts;
  std::uint64_t bytes = 0;  // that this gives, as far as it is known
  bool seen_whole = true;
  bool to_blame = false;
};

// Chooses until what they give comes to `missing` bytes. Jobs and attempts that have written less than 1 MiB are left
// alone. Empty if nobody has written more.
[[nodiscard]] std::vector<GivesWay> ChooseWhoGivesWay(std::vector<JobRoom> jobs, std::uint64_t missing);

}  // namespace millrace::worker
