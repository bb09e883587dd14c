// SPDX-License-Identifier: Apache-2.0
// Chooses the jobs of a worker that give way when its disk fills up. Pure.
//
// A job answers for all its files on the disk except outputs that are served: their attempts have ended, so stopping
// attempts does not free them. The job with the most bytes gives way first. If its running attempts wrote most of those
// bytes, the largest attempts are stopped. If not, or if some of the job's files could not be looked at, the whole job
// is stopped, except that its served outputs stay. Only the first job is to blame, since without its files there would
// be room for the others.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::worker {

struct JobRoom {
  JobId job;
  std::uint64_t bytes = 0;                              // of all its files on the disk
  std::uint64_t served = 0;                             // of these, the bytes of outputs that are served
  bool seen_whole = true;                               // false: the job may have more than `bytes`
  using Attempt = std::pair<std::uint64_t, AttemptId>;  // the bytes of its own files
  std::vector<Attempt> attempts = {};
};

struct GivesWay {
  JobId job;
  bool all = false;  // false: only these attempts
  std::vector<JobRoom::Attempt> attempts;
  std::uint64_t bytes = 0;  // that stopping them frees, as far as is known
  bool seen_whole = true;
  bool to_blame = false;
};

// Chooses jobs until they free `missing` bytes. Jobs and attempts that have written less than 1 MiB are left alone; if
// none has written more, the result is empty.
[[nodiscard]] std::vector<GivesWay> ChooseWhoGivesWay(std::vector<JobRoom> jobs, std::uint64_t missing);

}  // namespace millrace::worker
