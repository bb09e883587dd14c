// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/redraw.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/random.h"

namespace millrace::compare {
namespace {

// Returns the cube root, rounded up.
std::size_t CubeRoot(std::size_t number) {
  std::size_t root = 0;
  while (root * root * root < number) ++root;
  return root;
}

}  // namespace

sim::Workload Redraw(const sim::Workload& workload, std::uint64_t seed) {
  MILLRACE_CHECK(CanRedraw(workload), "a workload that cannot be drawn from");
  const std::vector<std::uint32_t> order = sim::SubmissionOrder(workload);
  const std::size_t count = order.size();
  const auto submit = [&](std::size_t at) { return workload.jobs[order[at]].submit; };
  // The pause before each job; the mean pause before the first one.
  std::vector<Micros> gaps{count > 1 ? (submit(count - 1) - submit(0)) / static_cast<Micros>(count - 1) : 0};
  for (std::size_t i = 1; i < count; ++i) gaps.push_back(submit(i) - submit(i - 1));
  const std::size_t consecutive = CubeRoot(count);
  Random random(seed);
  sim::Workload drawn = workload;
  drawn.jobs.clear();
  Micros now = 0;
  while (drawn.jobs.size() < count) {
    const std::size_t begin = random.Below(count);
    for (std::size_t i = 0; i < consecutive && drawn.jobs.size() < count; ++i) {
      const std::size_t at = (begin + i) % count;
      if (!drawn.jobs.empty()) now += gaps[at];
      drawn.jobs.push_back(workload.jobs[order[at]]);
      drawn.jobs.back().submit = now;
    }
  }
  return drawn;
}

bool CanRedraw(const sim::Workload& workload) {
  return !workload.jobs.empty() && std::none_of(workload.jobs.begin(), workload.jobs.end(),
                                                [](const sim::SimJob& job) { return job.after.has_value(); });
}

bool SameJobs(const sim::Workload& a, const sim::Workload& b) {
  const auto same_map = [](const sim::SimMap& x, const sim::SimMap& y) {
    return x.bytes == y.bytes && x.cpu == y.cpu && x.output == y.output;
  };
  const auto same_reduce = [](const sim::SimReduce& x, const sim::SimReduce& y) {
    return x.weight == y.weight && x.cpu == y.cpu && x.output == y.output;
  };
  return std::ranges::equal(a.jobs, b.jobs, [&](const sim::SimJob& x, const sim::SimJob& y) {
    return x.submit == y.submit && x.after == y.after && x.user == y.user && x.pool == y.pool &&
           x.deadline == y.deadline && std::ranges::equal(x.maps, y.maps, same_map) &&
           std::ranges::equal(x.reduces, y.reduces, same_reduce);
  });
}

}  // namespace millrace::compare
