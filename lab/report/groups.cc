// SPDX-License-Identifier: Apache-2.0
#include "lab/report/groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/ids/time.h"

namespace millrace::compare {
namespace {

using NameOf = std::string sim::JobRow::*;

// The turnarounds of the jobs of one group that ended, in one run.
struct Turnarounds {
  double jobs = 0, ended = 0, seconds = 0;
  [[nodiscard]] std::optional<double> Mean() const { return ended > 0 ? std::optional(seconds / ended) : std::nullopt; }
};
using Groups = std::map<std::string, Turnarounds>;  // of a run, by name

Groups GroupsOf(const RunRecord& record, NameOf name_of) {
  Groups groups;
  for (const sim::JobRow& job : record.outcome.result.jobs) {
    Turnarounds& own = groups[job.*name_of];
    own.jobs += 1;
    if (!job.Ended()) continue;
    own.ended += 1;
    own.seconds += static_cast<double>(job.Turnaround()) / static_cast<double>(kSecond);
  }
  return groups;
}

bool PartsAlike(NameOf one, NameOf other, const std::vector<const RunRecord*>& counting) {
  return std::ranges::all_of(counting, [&](const RunRecord* record) {
    return std::ranges::all_of(record->outcome.result.jobs,
                               [&](const sim::JobRow& job) { return job.*one == job.*other; });
  });
}

// A group with its values in all runs.
struct Followed {
  JudgedGroup group;
  sim::MetricRuns runs;
  bool in_all = true;
};

Followed Follow(const std::string& name, const Design& design, const std::vector<const RunRecord*>& counting,
                const std::vector<Groups>& of_runs) {
  Followed followed;
  followed.group.name = name;
  followed.runs.values.resize(design.schedulers);
  followed.runs.of_ended = true;
  std::vector<Turnarounds> means(design.schedulers);
  for (std::size_t i = 0; i < counting.size(); ++i) {
    const PlannedRun& run = counting[i]->run;
    const auto own = of_runs[i].find(name);
    const std::optional<double> mean = own == of_runs[i].end() ? std::nullopt : own->second.Mean();
    if (!run.second && run.scheduler == design.baseline && own != of_runs[i].end())
      followed.group.jobs += own->second.jobs / design.blocks;
    followed.in_all = followed.in_all && mean;
    if (!mean) continue;
    (run.second ? followed.runs.second : followed.runs.values[run.scheduler]).push_back(*mean);
    if (!run.second) means[run.scheduler].ended += 1, means[run.scheduler].seconds += *mean;
  }
  for (const Turnarounds& mean : means) followed.group.means.push_back(mean.Mean());
  return followed;
}

// Returns the largest groups of one kind by name, and sets how many there are.
std::vector<Followed> FollowLargest(NameOf name_of, const Design& design, const std::vector<const RunRecord*>& counting,
                                    std::size_t* groups) {
  std::vector<Groups> of_runs;
  std::map<std::string, double> jobs;
  for (const RunRecord* record : counting) {
    for (const auto& [name, own] : of_runs.emplace_back(GroupsOf(*record, name_of))) jobs[name] += own.jobs;
  }
  std::vector<std::pair<double, std::string>> by_size;
  for (const auto& [name, count] : jobs) by_size.emplace_back(-count, name);
  *groups = by_size.size();
  std::ranges::sort(by_size);
  by_size.resize(std::min(by_size.size(), kMostGroups));
  std::ranges::sort(by_size, {}, [](const auto& one) { return one.second; });
  std::vector<Followed> largest;
  for (const auto& [size, name] : by_size) largest.push_back(Follow(name, design, counting, of_runs));
  return largest;
}

}  // namespace

std::vector<Grouping> JudgeGroups(const Design& design, const std::vector<const RunRecord*>& counting,
                                  const sim::CompareOptions& options) {
  std::vector<Grouping> groupings;
  std::vector<NameOf> ways;
  std::vector<sim::MetricRuns> judged;
  for (const auto& [kind, name_of] : kGroupKinds) {
    const auto alike =
        std::ranges::find_if(ways, [&, of = name_of](NameOf way) { return PartsAlike(way, of, counting); });
    if (alike != ways.end()) {
      groupings[static_cast<std::size_t>(alike - ways.begin())].kinds.push_back(kind);
      continue;
    }
    ways.push_back(name_of);
    Grouping& grouping = groupings.emplace_back(Grouping{{kind}, 0, {}});
    for (Followed& one : FollowLargest(name_of, design, counting, &grouping.groups)) {
      if (one.in_all && grouping.groups > 1) {
        judged.push_back(std::move(one.runs));
        one.group.comparison.emplace();
      }
      grouping.largest.push_back(std::move(one.group));
    }
  }
  std::erase_if(groupings, [](const Grouping& one) { return one.groups < 2; });
  if (judged.empty() || design.schedulers < 2) return groupings;
  std::vector<sim::MetricComparison> comparisons =
      sim::Compare(judged, design.baseline, WithRuns(options, design, counting));
  std::size_t next = 0;
  for (Grouping& grouping : groupings) {
    for (JudgedGroup& group : grouping.largest) {
      if (group.comparison) group.comparison = std::move(comparisons[next++]);
    }
  }
  return groupings;
}

}  // namespace millrace::compare
