// SPDX-License-Identifier: Apache-2.0
#include "lab/report/document.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/version.h"
#include "lab/report/groups.h"
#include "lab/report/numbers.h"
#include "lab/report/sources.h"

namespace millrace::compare {
namespace {

// Returns what stands behind the first `key` and colon in /proc/cpuinfo.
std::string FromCpuInfo(std::string_view key) {
  const Result<std::string> text = ReadWholeFile("/proc/cpuinfo");
  if (!text.ok()) return {};
  const std::size_t at = text->find(key);
  if (at == std::string::npos) return {};
  const std::size_t end = text->find('\n', at), colon = text->find(": ", at);
  if (colon >= end) return {};
  return text->substr(colon + 2, end - colon - 2);
}

using Json = nlohmann::ordered_json;

// Limits on the values that are shown as clouds, for each scheduler; the tables have all values.
constexpr std::size_t kMostTurnarounds = 4'000, kLeastTurnarounds = 100;  // of a scheduler's runs, of a run
constexpr std::size_t kMostRows = 60'000;  // attempts and samples in all pictures, unless the first has more
constexpr std::size_t kMostSlowdowns = 1'000, kMostLate = 500;

Json MadeJson(const Subject& subject) {
  const Machine& machine = subject.machine;
  return {{"millrace", kVersion},
          {"at", subject.at},
          {"command", subject.command},
          {"machine",
           {{"kernel", machine.kernel},
            {"processor", machine.processor},
            {"cores", machine.cores},
            {"memory", machine.memory}}},
          {"settings", subject.settings_text}};
}

Json WorkloadJson(const Material& material) {
  const Subject& subject = *material.subject;
  return {{"name", subject.workload_name},
          {"file", subject.workload_text},
          {"jobs", material.counting.empty() ? 0 : material.counting.front()->outcome.result.jobs.size()},
          {"where", subject.where}};
}

Json ClusterJson(const std::vector<NodeRow>& nodes) {
  std::uint32_t maps = 0, reduces = 0;
  Json rows = Json::array();
  for (const NodeRow& node : nodes) {
    maps += node.map_slots, reduces += node.reduce_slots;
    rows.push_back({{"name", node.name},
                    {"rack", node.rack},
                    {"datacenter", node.datacenter},
                    {"map_slots", node.map_slots},
                    {"reduce_slots", node.reduce_slots}});
  }
  return {{"map_slots", maps}, {"reduce_slots", reduces}, {"nodes", std::move(rows)}};
}

Json DesignJson(const Material& material) {
  const Design& design = material.design;
  Json seeds = Json::array();
  for (std::uint32_t block = 0; block < design.blocks; ++block) seeds.push_back(design.seed + block);
  return {{"repeat", design.blocks},
          {"seeds", std::move(seeds)},
          {"baseline", design.baseline},
          {"headline", material.subject->headline},
          {"practical", material.subject->options.practical},
          {"confidence", sim::kConfidence},
          {"significance", material.subject->options.significance},
          {"same_against_same", design.same_against_same},
          {"fewest_runs", design.schedulers < 2
                              ? Json()
                              : Json(sim::FewestRuns(design.schedulers, material.subject->options.significance))},
          {"significance_possible",
           design.schedulers < 2 ||
               design.blocks >= sim::FewestRuns(design.schedulers, material.subject->options.significance)}};
}

Json VariantsJson(const std::vector<sched::Variant>& schedulers) {
  Json json = Json::array();
  for (const sched::Variant& variant : schedulers)
    json.push_back({{"scheduler", variant.scheduler}, {"settings", variant.settings_text}});
  return json;
}

Json MetricsJson(const std::vector<JudgedMetric>& judged) {
  Json json = Json::array();
  for (const JudgedMetric& one : judged) {
    json.push_back({{"key", one.metric->key},
                    {"name", one.metric->name},
                    {"unit", one.metric->unit},
                    {"better", one.metric->better == sim::Better::kLower ? "lower" : "higher"},
                    {"headline", one.headline},
                    {"scale", one.comparison.has_ratios ? "ratio" : "difference"},
                    {"practical", Exact(one.comparison.practical)},
                    {"region", Exact(one.comparison.region)},
                    {"over_runs", one.metric->by_median ? "median" : "mean"},
                    {"says", one.metric->says}});
  }
  return json;
}

Json RunsJson(const Material& material) {
  Json json = Json::array();
  const std::vector<const Metric*> metrics = ShownMetrics(material.judged);
  for (const RunRecord* record : material.counting) {
    Json values = Json::object();
    for (const Metric* metric : metrics) values[std::string(metric->key)] = OrNull(metric->of(record->outcome), Exact);
    const std::string& disturbed = record->outcome.disturbed;
    json.push_back({{"scheduler", record->run.scheduler},
                    {"block", record->run.block},
                    {"order", record->run.order},
                    {"seed", record->run.seed},
                    {"second", record->run.second},
                    {"disturbed", disturbed.empty() ? Json() : Json(disturbed)},
                    {"metrics", std::move(values)}});
  }
  return json;
}

Json EstimateOrNull(const std::optional<sim::Estimate>& estimate) { return estimate ? ToJson(*estimate) : Json(); }

// Adds each scheduler but the baseline; each row begins with the result of `of`.
void AddComparisons(const Material& material, const sim::MetricComparison& judged, const Json& of, Json* rows) {
  for (std::uint32_t scheduler = 0; scheduler < material.design.schedulers; ++scheduler) {
    if (scheduler == material.design.baseline) continue;
    const sim::Comparison& comparison = judged.schedulers[scheduler];
    const std::string_view unjudged = sim::UnjudgedName(comparison.unjudged);
    Json row{{"scheduler", scheduler}};
    row.update(of);
    row.update({{"runs", comparison.runs},
                {"ratio", EstimateOrNull(comparison.ratio)},
                {"difference", ToJson(comparison.difference)},
                {"shift", EstimateOrNull(comparison.shift)},
                {"p", Exact(comparison.p)},
                {"p_adjusted", Exact(comparison.p_adjusted)},
                {"verdict", sim::VerdictName(comparison.verdict)},
                {"no_verdict", unjudged.empty() ? Json() : Json(unjudged)},
                {"more_runs", comparison.more_runs ? Json(*comparison.more_runs) : Json()}});
    rows->push_back(std::move(row));
  }
}

Json ComparisonsJson(const Material& material) {
  Json json = Json::array();
  for (const JudgedMetric& one : material.judged)
    AddComparisons(material, one.comparison, {{"metric", one.metric->key}}, &json);
  return json;
}

Json GroupsJson(const Material& material) {
  Json json = Json::array();
  for (const Grouping& grouping : JudgeGroups(material.design, material.counting, material.subject->options)) {
    Json rows = Json::array();
    for (const JudgedGroup& group : grouping.largest) {
      Json means = Json::array(), comparisons = Json::array();
      for (const std::optional<double>& mean : group.means) means.push_back(OrNull(mean, Exact));
      if (group.comparison) AddComparisons(material, *group.comparison, Json::object(), &comparisons);
      rows.push_back({{"name", group.name},
                      {"jobs", Exact(group.jobs)},
                      {"means", std::move(means)},
                      {"comparisons", std::move(comparisons)}});
    }
    json.push_back({{"kinds", grouping.kinds}, {"groups", grouping.groups}, {"rows", std::move(rows)}});
  }
  return json;
}

Json PicturesJson(const Material& material) {
  Json json = Json::array();
  for (const Picture& picture : material.pictures)
    json.push_back({{"block", picture.block},
                    {"seed", picture.seed},
                    {"of_baseline", picture.of_baseline.empty() ? Json() : Json(picture.of_baseline)}});
  return json;
}

// Returns the median and the range of the values; null if there are none.
Json MedianJson(std::vector<double> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  const double median = (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
  return {{"median", Exact(median)}, {"lowest", Exact(values.front())}, {"highest", Exact(values.back())}};
}

Json DecidingJson(const Material& material) {
  Json json = Json::array();
  for (std::uint32_t scheduler = 0; scheduler < material.design.schedulers; ++scheduler) {
    std::vector<double> seconds, per_event, master;
    for (const RunRecord* record : material.counting) {
      if (record->run.scheduler != scheduler || record->run.second) continue;
      const sim::SimResult& result = record->outcome.result;
      seconds.push_back(result.decision_seconds);
      if (result.summary.events > 0)
        per_event.push_back(result.decision_seconds * kMicrosPerSecond / static_cast<double>(result.summary.events));
      if (record->outcome.master_cpu_seconds) master.push_back(*record->outcome.master_cpu_seconds);
    }
    json.push_back({{"scheduler", scheduler},
                    {"runs", seconds.size()},
                    {"seconds", MedianJson(std::move(seconds))},
                    {"microseconds_per_event", MedianJson(std::move(per_event))},
                    {"master_cpu", MedianJson(std::move(master))}});
  }
  return json;
}

// With `ratios` those of metrics that have some, else the differences of the others.
Json SameAgainstSameJson(const Material& material, bool ratios) {
  Json json = Json::object();
  for (const JudgedMetric& one : material.judged) {
    const auto& same = one.comparison.same_against_same;
    if (same && one.comparison.has_ratios == ratios) json[std::string(one.metric->key)] = ToJson(*same);
  }
  return json;
}

Json WinnersJson(const Material& material) {
  Json json = Json::object();
  for (const JudgedMetric& one : material.judged) json[std::string(one.metric->key)] = one.comparison.winners;
  return json;
}

Json SourcesJson(const Material& material) {
  Json json = Json::array();
  for (std::uint32_t scheduler = 0; scheduler < material.design.schedulers; ++scheduler) {
    if (scheduler == material.design.baseline) continue;
    const Sources sources = SourcesOf(scheduler, material.design, material.counting);
    Json groups = Json::array(), phases = Json::array();
    for (const GroupSource& group : sources.groups)
      groups.push_back({{"name", group.name}, {"jobs", Exact(group.jobs)}, {"difference", Exact(group.difference)}});
    for (const auto& [name, difference] : sources.phases)
      phases.push_back({{"name", name}, {"difference", Exact(difference)}});
    json.push_back({{"scheduler", scheduler},
                    {"metric", "turnaround"},
                    {"groups", std::move(groups)},
                    {"phases", std::move(phases)}});
  }
  return json;
}

// Returns at most `most` of the sorted values, evenly spread, the ends among them.
template <class Value>
std::vector<Value> Spread(std::vector<Value> sorted, std::size_t most) {
  if (sorted.size() <= most) return sorted;
  std::vector<Value> spread;
  for (std::size_t i = 0; i < most; ++i) spread.push_back(sorted[i * (sorted.size() - 1) / (most - 1)]);
  return spread;
}

// Calls `use` with each job of the scheduler's runs that ended.
void ForEachEnded(const Material& material, std::uint32_t scheduler, auto&& use) {
  for (const RunRecord* record : material.counting) {
    if (record->run.scheduler != scheduler || record->run.second) continue;
    for (const sim::JobRow& job : record->outcome.result.jobs) {
      if (job.Ended()) use(*record, job);
    }
  }
}

// A list for each run, so that a reader sees how much runs differ.
Json TurnaroundsJson(const Material& material) {
  const std::size_t most = std::max(kMostTurnarounds / std::max(material.design.blocks, 1u), kLeastTurnarounds);
  std::vector<Json> rows(material.design.schedulers, Json::array());
  for (const RunRecord* record : material.counting) {
    if (record->run.second) continue;
    std::vector<Micros> turnarounds;
    for (const sim::JobRow& job : record->outcome.result.jobs) {
      if (job.Ended()) turnarounds.push_back(job.Turnaround());
    }
    std::sort(turnarounds.begin(), turnarounds.end());
    Json run = Json::array();
    for (const Micros turnaround : Spread(std::move(turnarounds), most)) run.push_back(Seconds(turnaround));
    rows[record->run.scheduler].push_back(std::move(run));
  }
  return rows;
}

Json SlowdownsJson(const Material& material) {
  Json json = Json::array();
  for (std::uint32_t scheduler = 0; scheduler < material.design.schedulers; ++scheduler) {
    std::vector<std::pair<std::uint32_t, double>> slowdowns;
    ForEachEnded(material, scheduler, [&](const RunRecord&, const sim::JobRow& job) {
      if (job.alone > 0) slowdowns.emplace_back(job.maps, job.Slowdown());
    });
    std::sort(slowdowns.begin(), slowdowns.end());
    Json row = slowdowns.empty() ? Json() : Json::array();
    for (const auto& [maps, slowdown] : Spread(std::move(slowdowns), kMostSlowdowns))
      row.push_back({{"maps", maps}, {"slowdown", Rounded(slowdown)}});
    json.push_back(std::move(row));
  }
  return json;
}

Json LateJson(const Material& material) {
  Json json = Json::array();
  std::vector<std::size_t> told(material.design.schedulers);
  for (const RunRecord* record : material.counting) {
    if (record->run.second) continue;
    const std::vector<sim::JobRow>& jobs = record->outcome.result.jobs;
    Micros first = jobs.empty() ? 0 : jobs.front().submit;
    for (const sim::JobRow& job : jobs) first = job.submitted ? std::min(first, job.submit) : first;
    for (const sim::JobRow& job : jobs) {
      if (!job.submitted || !job.Late() || told[record->run.scheduler]++ >= kMostLate) continue;
      json.push_back({{"scheduler", record->run.scheduler},
                      {"seed", record->run.seed},
                      {"job", job.name},
                      {"deadline", Seconds(job.deadline - first)},
                      {"end", job.Ended() ? Seconds(job.end - first) : Json()}});
    }
  }
  return json;
}

}  // namespace

Machine ThisMachine() {
  Machine machine;
  utsname names{};
  if (::uname(&names) == 0) machine.kernel = std::string(names.sysname) + " " + names.release + " " + names.machine;
  machine.processor = FromCpuInfo("model name");
  machine.cores = static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 0L));
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0) machine.memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
  return machine;
}

Status AddDetails(Arena& arena, Material* material) {
  std::size_t rows = 0;
  for (Picture& picture : PicturesOf(material->design, material->counting)) {
    // The next one is about as large as those before.
    if (const std::size_t count = material->pictures.size(); count > 0 && rows + rows / count > kMostRows) break;
    for (const RunRecord* record : picture.runs) {
      DetailedRun& run = material->details.emplace_back();
      run.scheduler = record->run.scheduler, run.block = record->run.block, run.seed = record->run.seed;
      if (arena.Kind() == "sim") {
        MILLRACE_ASSIGN(run.outcome, arena.Run({material->subject->schedulers[run.scheduler], run.seed}));
      } else {
        run.outcome = record->outcome;
      }
      rows += run.outcome.result.tasks.size() + std::min(run.outcome.result.samples.size(), kMostSamples);
    }
    material->pictures.push_back(std::move(picture));
  }
  return Status::Ok();
}

Json DocumentOf(const Material& material) {
  const Subject& subject = *material.subject;
  Json details = Json::array();
  for (const DetailedRun& run : material.details)
    details.push_back(DetailsJson(run, subject.nodes, subject.schedulers[run.scheduler].settings));
  return {{"format", "millrace.comparison/1"},
          {"made", MadeJson(subject)},
          {"workload", WorkloadJson(material)},
          {"cluster", ClusterJson(subject.nodes)},
          {"design", DesignJson(material)},
          {"schedulers", LabelsOf(subject.schedulers)},
          {"variants", VariantsJson(subject.schedulers)},
          {"metrics", MetricsJson(material.judged)},
          {"runs", RunsJson(material)},
          {"comparisons", ComparisonsJson(material)},
          {"same_against_same", SameAgainstSameJson(material, true)},
          {"same_against_same_difference", SameAgainstSameJson(material, false)},
          {"winners", WinnersJson(material)},
          {"groups", GroupsJson(material)},
          {"sources", SourcesJson(material)},
          {"deciding", DecidingJson(material)},
          {"pictures", PicturesJson(material)},
          {"details", std::move(details)},
          {"turnarounds", TurnaroundsJson(material)},
          {"slowdowns", SlowdownsJson(material)},
          {"late", LateJson(material)},
          {"simulated", material.simulated},
          {"warnings", WarningsOf(material)}};
}

Json FindingsOf(const Material& material) {
  return {{"schedulers", LabelsOf(material.subject->schedulers)},
          {"baseline", material.design.baseline},
          {"comparisons", ComparisonsJson(material)},
          {"same_against_same", SameAgainstSameJson(material, true)},
          {"same_against_same_difference", SameAgainstSameJson(material, false)},
          {"winners", WinnersJson(material)},
          {"groups", GroupsJson(material)},
          {"simulated", material.simulated},
          {"warnings", WarningsOf(material)}};
}

std::string TextOf(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace millrace::compare
