// SPDX-License-Identifier: Apache-2.0
#include "lab/beside/beside.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "lab/beside/fit.h"
#include "lab/beside/run_beside.h"
#include "lab/measure/paired.h"

namespace millrace::compare {
namespace {

constexpr std::string_view kShown[] = {"turnaround", "makespan",   "wait",       "turnaround_p95",  "fairness",
                                       "late",       "node_local", "rack_bytes", "datacenter_bytes"};

// Resamples of two values that differ have one t only, and an interval without width.
constexpr std::size_t kFewestForInterval = 3;

bool IsShown(const Material& material, const Metric& metric) {
  const std::vector<std::string>& headline = material.subject->headline;
  const bool decides = std::find(headline.begin(), headline.end(), metric.key) != headline.end();
  // The time to decide is that of another program, and slowdowns would need each job alone.
  if (metric.key == "deciding" || metric.key == "slowdown") return false;
  return decides || std::find(std::begin(kShown), std::end(kShown), metric.key) != std::end(kShown);
}

// Takes the links out of the file, since the nodes of a local cluster have none; the measured reads count instead.
void TakeLinksOut(sim::SimulationFile* file) {
  for (sim::NodeSpec& node : file->cluster.nodes) node.up = node.down = 0;
  file->cluster.rack_bandwidth = file->cluster.datacenter_bandwidth = 0;
  file->stated = {};
}

std::vector<std::string> NamesOf(const sim::StatedLinks& stated) {
  std::vector<std::string> names;
  if (stated.node) names.emplace_back("node_bandwidth");
  if (stated.rack) names.emplace_back("rack_bandwidth");
  if (stated.datacenter) names.emplace_back("datacenter_bandwidth");
  return names;
}

struct Drawn {
  Drawn(DrawSimulation of, bool on_one_machine) : draw(std::move(of)), without_links(on_one_machine) {}
  Result<const sim::SimulationFile*> Of(std::uint64_t seed) {
    const auto known = files.find(seed);
    if (known != files.end()) return &known->second;
    MILLRACE_ASSIGN(sim::SimulationFile file, draw(seed));
    if (without_links) {
      links_taken_out = NamesOf(file.stated);
      TakeLinksOut(&file);
    }
    return &files.emplace(seed, std::move(file)).first->second;
  }
  DrawSimulation draw;
  bool without_links;
  std::vector<std::string> links_taken_out;  // of those that the file states
  std::map<std::uint64_t, sim::SimulationFile> files;
};

// Returns the runs on which the costs are measured.
std::vector<const RunRecord*> RunsToMeasure(const Material& material) {
  std::vector<const RunRecord*> second, first;
  for (const RunRecord* record : material.counting) {
    if (record->run.scheduler != material.design.baseline) continue;
    (record->run.second ? second : first).push_back(record);
  }
  if (second.empty() && first.size() > 1) first.resize(1);
  return second.empty() ? first : second;
}

// Returns an error if the run has another number of jobs than the file.
Status CheckJobs(const RunRecord& record, const sim::SimulationFile& file) {
  if (record.outcome.result.jobs.size() == file.workload.jobs.size()) return Status::Ok();
  return Corrupt("the run of seed " + std::to_string(record.run.seed) + " has " +
                 std::to_string(record.outcome.result.jobs.size()) + " jobs, and the workload " +
                 std::to_string(file.workload.jobs.size()) + "; --force discards the runs");
}

struct Simulated {
  const RunRecord* live = nullptr;
  RunOutcome outcome;
};

BesideMetric MetricOf(const Metric& metric, const Material& material, const std::vector<Simulated>& runs) {
  BesideMetric beside{&metric, {}, {}};
  for (std::uint32_t scheduler = 0; scheduler < material.design.schedulers; ++scheduler) {
    std::vector<LivePair> pairs;
    for (const Simulated& run : runs) {
      if (run.live->run.scheduler != scheduler) continue;
      const std::optional<double> live = metric.of(run.live->outcome), simulated = metric.of(run.outcome);
      if (live && simulated) pairs.push_back({*live, *simulated});
    }
    if (!pairs.empty()) beside.rows.push_back(RowOf(scheduler, pairs));
  }
  beside.tau = RankAgreement(beside.rows);
  return beside;
}

}  // namespace

BesideRow RowOf(std::uint32_t scheduler, const std::vector<LivePair>& pairs) {
  BesideRow row;
  row.scheduler = scheduler, row.runs = static_cast<std::uint32_t>(pairs.size());
  std::vector<double> ratios, live, simulated;
  bool positive = true;
  for (const LivePair& pair : pairs) {
    live.push_back(pair.live), simulated.push_back(pair.simulated);
    positive = positive && pair.live > 0 && pair.simulated > 0;
    if (positive) ratios.push_back(pair.simulated / pair.live);
  }
  row.live = sim::Mean(live), row.simulated = sim::Mean(simulated);
  if (positive) {
    const sim::Estimate ratio = ratios.size() >= 2 ? sim::RatioByBootstrapT(ratios) : sim::Estimate{ratios[0], 0, 0};
    row.error = ratio.value - 1;
    if (ratios.size() >= kFewestForInterval) row.interval = {*row.error, ratio.low - 1, ratio.high - 1};
  } else if (row.live > 0) {
    row.error = row.simulated / row.live - 1;
  }
  return row;
}

std::optional<double> RankAgreement(const std::vector<BesideRow>& rows) {
  std::vector<double> live, simulated;
  for (const BesideRow& row : rows) live.push_back(row.live), simulated.push_back(row.simulated);
  return rows.size() < 2 ? std::nullopt : sim::KendallTau(live, simulated);
}

Result<Beside> SimulateBeside(const Material& material, const DrawSimulation& draw) {
  const Subject& subject = *material.subject;
  Drawn drawn(draw, subject.where == "local");
  Beside beside;
  const std::vector<const RunRecord*> measured = RunsToMeasure(material);
  std::vector<MeasuredRun> runs_measured;
  for (const RunRecord* record : measured) {
    MILLRACE_ASSIGN(const sim::SimulationFile* file, drawn.Of(record->run.seed));
    MILLRACE_TRY(CheckJobs(*record, *file));
    runs_measured.push_back({file, &record->outcome});
  }
  std::set<std::string> datacenters;
  std::set<std::pair<std::string, std::string>> racks;
  for (const NodeRow& node : subject.nodes)
    datacenters.insert(node.datacenter), racks.emplace(node.datacenter, node.rack);
  beside.racks = static_cast<std::uint32_t>(racks.size());
  beside.datacenters = static_cast<std::uint32_t>(datacenters.size());
  beside.measured_runs = static_cast<std::uint32_t>(measured.size());
  beside.second = measured.front()->run.second;
  MILLRACE_ASSIGN(beside.costs, FitCosts(runs_measured, subject.nodes, subject.schedulers[material.design.baseline]));
  for (const sim::LiveClass& of : runs_measured.front().file->live.classes)
    beside.classes.push_back(of.name), beside.untimed.push_back(of.untimed);
  std::vector<Simulated> simulated;
  for (const RunRecord* record : material.counting) {
    if (record->run.second || std::find(measured.begin(), measured.end(), record) != measured.end()) continue;
    MILLRACE_ASSIGN(const sim::SimulationFile* file, drawn.Of(record->run.seed));
    MILLRACE_TRY(CheckJobs(*record, *file));
    Simulated& run = simulated.emplace_back();
    run.live = record;
    MILLRACE_ASSIGN(run.outcome, RunBeside(*file, beside.costs, subject.nodes, record->outcome,
                                           subject.schedulers[record->run.scheduler]));
  }
  beside.links_not_there = drawn.links_taken_out;
  for (const Metric& metric : Metrics()) {
    if (!IsShown(material, metric)) continue;
    BesideMetric of = MetricOf(metric, material, simulated);
    const bool any = std::ranges::any_of(of.rows, [](const BesideRow& r) { return r.live != 0 || r.simulated != 0; });
    if (any) beside.metrics.push_back(std::move(of));
  }
  return beside;
}

}  // namespace millrace::compare
