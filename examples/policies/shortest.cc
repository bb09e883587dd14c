// SPDX-License-Identifier: Apache-2.0
// The shortest job first, as a program: by what its own tasks took, its user's estimate or earlier runs.
#include <algorithm>
#include <tuple>

#include "client/policy/policy.h"

using namespace millrace::policy;

struct Shortest : Policy {
  std::vector<std::string> Order(const Cluster& cluster, Slot slot) override {
    std::vector<const Job*> jobs = cluster.Jobs();
    const auto key = [&](const Job* job) {
      return std::tuple(job->Remaining(slot) * job->TaskTime(slot).value_or(1'000'000), job->order);
    };
    std::sort(jobs.begin(), jobs.end(), [&](const Job* a, const Job* b) { return key(a) < key(b); });
    return IdsOf(jobs);
  }
};

int main() { return Serve(Shortest(), "shortest"); }
