// SPDX-License-Identifier: Apache-2.0
// fifo as a program: the highest priority first, then the earliest submission. It decides as the built-in one does.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "client/policy/policy.h"

using namespace millrace::policy;

struct Fifo : Policy {
  Kind kind() const override { return Kind::kAssignment; }
  std::vector<std::string> Order(const Cluster& cluster, Slot) override {
    static constexpr std::array<std::string_view, 5> kPriorities = {"VERY_HIGH", "HIGH", "NORMAL", "LOW", "VERY_LOW"};
    std::vector<const Job*> jobs = cluster.Jobs();
    const auto key = [](const Job* job) {
      return std::tuple(std::find(kPriorities.begin(), kPriorities.end(), job->priority), job->order);
    };
    std::sort(jobs.begin(), jobs.end(), [&](const Job* a, const Job* b) { return key(a) < key(b); });
    return IdsOf(jobs);
  }
};

int main() { return Serve(Fifo(), "fifo"); }
