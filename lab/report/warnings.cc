// SPDX-License-Identifier: Apache-2.0
// Warnings that a reader needs before believing a comparison.
#include <algorithm>
#include <cstdio>

#include "base/ids/counted.h"
#include "lab/measure/report.h"
#include "lab/report/document.h"

namespace millrace::compare {
namespace {

void WarnOfFewRuns(const Material& material, std::vector<std::string>* warnings) {
  const std::uint32_t runs = material.design.blocks, schedulers = material.design.schedulers;
  const std::uint32_t fewest = sim::FewestRuns(schedulers, material.subject->options.significance);
  if (runs >= fewest || schedulers < 2) return;
  warnings->push_back("with " + Counted(runs, "run") + " of each scheduler no difference can be significant; for " +
                      std::to_string(schedulers) + " schedulers at least " + std::to_string(fewest) + " are needed");
}

void WarnOfOneObservation(const Material& material, std::vector<std::string>* warnings) {
  const std::vector<bool> fixed = FixedSchedulers(material.design, material.counting);
  std::string names;
  for (std::uint32_t scheduler = 0; scheduler < fixed.size(); ++scheduler) {
    if (fixed[scheduler]) names += (names.empty() ? "" : ", ") + material.subject->schedulers[scheduler].label;
  }
  if (names.empty()) return;
  warnings->push_back(
      "the seeds change nothing in the turnarounds under " + names + ": " + std::to_string(material.design.blocks) +
      " runs are one observation, so such schedulers are not told apart; the results hold for this very workload only");
}

void WarnOfIdleCluster(const Material& material, std::vector<std::string>* warnings) {
  double most = 0;
  for (const RunRecord* record : material.counting)
    most = std::max(most, record->outcome.result.summary.utilisation_total);
  if (const std::string idle = sim::IdleWarning(most); !idle.empty()) warnings->push_back(idle);
}

void WarnOfDisturbedRuns(const Material& material, std::vector<std::string>* warnings) {
  std::size_t disturbed = 0;
  std::string first;
  for (const RunRecord* record : material.counting) {
    if (record->outcome.disturbed.empty()) continue;
    if (disturbed++ == 0) first = record->outcome.disturbed;
  }
  if (disturbed == 0) return;
  warnings->push_back(std::to_string(disturbed) + " of " + Counted(material.counting.size(), "run") +
                      (disturbed == 1 ? " was" : " were") +
                      " disturbed each time that they were made, the first of them because " + first);
}

// A mean over the jobs that ended does not show the merit of a scheduler under which others did not end.
void WarnOfUnfinishedJobs(const Material& material, std::vector<std::string>* warnings) {
  for (std::uint32_t scheduler = 0; scheduler < material.design.schedulers; ++scheduler) {
    std::uint64_t jobs = 0, succeeded = 0;
    for (const RunRecord* record : material.counting) {
      if (record->run.scheduler != scheduler || record->run.second) continue;
      jobs += record->outcome.result.summary.jobs;
      succeeded += record->outcome.result.summary.succeeded;
    }
    if (succeeded == jobs) continue;
    warnings->push_back(
        "under " + material.subject->schedulers[scheduler].label + " " + std::to_string(jobs - succeeded) + " of " +
        Counted(jobs, "job") +
        " did not succeed; where other jobs ended, there is no verdict by metrics of the jobs that ended");
  }
}

void WarnOfUnknownHeadlines(const Material& material, std::vector<std::string>* warnings) {
  for (const std::string& key : material.subject->headline) {
    const bool known = std::any_of(material.judged.begin(), material.judged.end(),
                                   [&](const JudgedMetric& one) { return one.metric->key == key; });
    if (!known) warnings->push_back("not every run has a value of " + key + ", so it was not compared");
  }
}

// Two runs of one scheduler on one seed have to be alike, but for chance.
void WarnOfDifferenceToItself(const Material& material, std::vector<std::string>* warnings) {
  for (const JudgedMetric& one : material.judged) {
    const auto& same = one.comparison.same_against_same;
    if (!one.headline || !same || !one.comparison.has_ratios || (same->low <= 1 && same->high >= 1)) continue;
    const double practical = material.subject->options.practical;
    if (same->value <= 1 + practical && same->value >= 1 / (1 + practical)) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s against itself differs in %s by a factor of %.3f (%.3f to %.3f)",
                  material.subject->schedulers[material.design.baseline].label.c_str(),
                  std::string(one.metric->key).c_str(), same->value, same->low, same->high);
    warnings->push_back(std::string(text) + ": something other than the scheduler changes from run to run");
  }
}

}  // namespace

std::vector<std::string> WarningsOf(const Material& material) {
  std::vector<std::string> warnings;
  WarnOfFewRuns(material, &warnings);
  WarnOfOneObservation(material, &warnings);
  WarnOfIdleCluster(material, &warnings);
  WarnOfUnfinishedJobs(material, &warnings);
  WarnOfDisturbedRuns(material, &warnings);
  WarnOfUnknownHeadlines(material, &warnings);
  WarnOfDifferenceToItself(material, &warnings);
  warnings.insert(warnings.end(), material.warnings.begin(), material.warnings.end());
  return warnings;
}

}  // namespace millrace::compare
