// Chooses the jobs of a worker that give way when its disk fills up. Pure.
//
// A job answers for all that it has on the disk except outputs that are served: their attempts have ended, so stopping
// attempts does not free them. The job with most goes first. If its attempts have written most of that, the largest of
// them go. If not, or if not all that the job has could be looked at, all of it goes except outputs that are served.
// Only the first job is to blame: without what it took, there would be room for the others.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::worker {

struct JobRoom {
  JobId job;
  std::uint64_t bytes = 0;                              // all that it has on the disk
  std::uint64_t served = 0;                             // the part that is outputs being served
  bool seen_whole = true;                               // false: it may have more than `bytes`
  using Attempt = std::pair<std::uint64_t, AttemptId>;  // the bytes of its own files
  std::vector<Attempt> attempts = {};
};

struct GivesWay {
  JobId job;
  bool all = false;  // false: only these attempts
  std::vector<JobRoom::Attempt> attempts;
  std::uint64_t bytes = 0;  // that this frees, as far as is known
  bool seen_whole = true;
  bool to_blame = false;
};

// Chooses jobs until they free `missing` bytes. Jobs and attempts that have written less than 1 MiB are left alone.
// Empty if none has written more.
[[nodiscard]] std::vector<GivesWay> ChooseWhoGivesWay(std::vector<JobRoom> jobs, std::uint64_t missing);

}  // namespace millrace::worker
