// SPDX-License-Identifier: Apache-2.0
#include "lab/advise/advice_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/ids/counted.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/verbs.h"
#include "lab/advise/candidates.h"
#include "lab/advise/settings_change.h"
#include "lab/report/findings_table.h"
#include "lab/report/numbers.h"

namespace millrace::compare {
namespace {

using Json = nlohmann::ordered_json;

std::string DesignLine(const Material& material, const History& history) {
  const std::string runs = Counted(material.design.blocks, "time"),
                    schedulers = Counted(material.design.schedulers, "scheduler");
  return "simulated under " + schedulers + ", " + runs + " each" +
         (history.redrawn ? ": once as it was, then with jobs drawn from it at random" : " by the seeds of the file") +
         "\n";
}

std::string Labels(const Material& material, const std::vector<std::uint32_t>& schedulers) {
  std::string text;
  for (const std::uint32_t scheduler : schedulers)
    text += (text.empty() ? "" : ", ") + material.subject->schedulers[scheduler].label;
  return text;
}

std::string Indented(const std::string& lines) {
  std::string text = "  ";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += lines[i];
    if (lines[i] == '\n' && i + 1 < lines.size()) text += "  ";
  }
  return text;
}

// Returns the number of largest jobs that have half of the work, if the draws hang on them: draws have few large jobs
// more or less often than the history had them.
std::optional<std::size_t> HeavyTail(const History& history) {
  constexpr std::size_t kOneIn = 10;
  const std::size_t few = JobsOfHalfTheWork(history.file.workload);
  if (!history.redrawn || few == 0 || few * kOneIn > history.file.workload.jobs.size()) return std::nullopt;
  return few;
}

std::string TailLine(const History& history) {
  const std::optional<std::size_t> few = HeavyTail(history);
  if (!few) return "";
  return std::to_string(*few) + " of the " + std::to_string(history.file.workload.jobs.size()) +
         (*few == 1 ? " jobs has" : " jobs have") + " half of the work, so the result of days to come depends on " +
         (*few == 1 ? "it" : "them") + ".\n";
}

std::string ChangeAdvice(const Advice& advice, const Material& material, const History& history) {
  const Metric& metric = *advice.metric;
  std::string text =
      "With " + material.subject->schedulers[*advice.recommended].label + ", " + std::string(metric.name);
  if (advice.as_it_was) {
    const AsItWas& was = *advice.as_it_was;
    text += " of these jobs as they were: " + FormatValue(metric, was.after) + " in place of " +
            FormatValue(metric, was.before);
    if (was.before > 0) text += ", " + Formatted("%.2f", was.after / was.before) + " times as much";
    text += ".\nIf the days to come are drawn from them";
  }
  text += ": " + Effect(metric, advice.before, advice.after, advice.gain) + ", better in " +
          std::to_string(advice.better_in) + " of " + std::to_string(advice.runs) + " runs.\n";
  if (advice.single) {
    text += "In single runs it was " + Formatted("%.2f", advice.single->low) + " to " +
            Formatted("%.2f", advice.single->high) + " times as much.\n";
  }
  text += TailLine(history);
  for (const Cost& cost : advice.costs)
    text += "Given up: " + std::string(cost.metric->name) + " " +
            Effect(*cost.metric, cost.before, cost.after, cost.comparison) + ".\n";
  if (advice.costs.empty()) text += "No other metric is shown to be worse.\n";
  return text;
}

}  // namespace

std::string Effect(const Metric& metric, double before, double after, const sim::Comparison& comparison) {
  std::string text = FormatValue(metric, after) + " in place of " + FormatValue(metric, before);
  if (comparison.ratio) {
    text += ": " + Formatted("%.2f", comparison.ratio->value) +
            " times as much (95%: " + Formatted("%.2f", comparison.ratio->low) + " to " +
            Formatted("%.2f", comparison.ratio->high) + ")";
  } else {
    const auto size = [&](double value) { return (value < 0 ? "-" : "") + FormatValue(metric, std::abs(value)); };
    text +=
        " (95% of the difference: " + size(comparison.difference.low) + " to " + size(comparison.difference.high) + ")";
  }
  return text;
}

std::string HistoryLine(const Material& material, const History& history) {
  std::set<std::string> users;
  for (const sim::SimJob& job : history.file.workload.jobs) users.insert(job.user);
  double used = 0;
  for (const RunRecord* record : material.counting) {
    if (record->run.block == 0 && record->run.scheduler == material.design.baseline)
      used = record->outcome.result.summary.utilisation_total;
  }
  const std::size_t jobs = history.file.workload.jobs.size(), nodes = history.file.cluster.nodes.size();
  return Printable(history.name) + ": " + Counted(jobs, "job") + " of " + Counted(users.size(), "user") + " on " +
         Counted(nodes, "node") + ", " + Formatted("%.0f%%", 100 * used) + " of the slots in use under " +
         history.in_force.label + "\n";
}

std::string ModelLine(const std::optional<ModelCheck>& check, const Metric& metric, std::optional<double> gain,
                      const History& history) {
  if (!check) {
    return history.of_cluster ? "The simulator was not checked against what happened, since some job has not ended.\n"
                              : "A workload file does not say how long its jobs really took, so the simulator was not "
                                "checked against it.\n";
  }
  std::string text = "The simulator gives " + FormatValue(metric, check->simulated) + " under " +
                     history.in_force.label + " where it really was " + FormatValue(metric, check->live);
  if (check->live > 0) {
    const double error = std::abs(check->simulated / check->live - 1);
    text += ", " + Formatted("%.0f%%", 100 * error) + " off";
    if (gain && error > std::abs(1 - *gain)) text += ", an error larger than the gain: try it before you believe it";
  }
  return text + ".\n";
}

std::string CoresLine(std::optional<std::uint32_t> recommended, const Material& material, const History& history) {
  if (!SlotsCostNothing(history.file)) {
    if (history.cores_share == 1) return "";
    return "In the simulation tasks have " + Formatted("%.0f%%", 100 * history.cores_share) +
           " of the cores; with these they wait for a core as long as they really did.\n";
  }
  std::string turning;
  for (const sched::Variant& variant : material.subject->schedulers) {
    if (TurnsSlots(variant.scheduler)) turning += (turning.empty() ? "" : ", ") + variant.label;
  }
  const std::string what = history.of_cluster ? "The history" : "The workload file";
  std::string text =
      what +
      " does not say how many cores there are, or how many of them tasks use, so slots are assumed to cost nothing";
  if (turning.empty())
    return text + "; FRESH, which turns slots of one kind into the other, is looked at only if it is named.\n";
  const bool turns = recommended && TurnsSlots(material.subject->schedulers[*recommended].scheduler);
  return text + ": " + turning + " turn" + (turning.find(',') == std::string::npos ? "s" : "") +
         " slots of one kind into the other, and would look as good where there is no core for them" +
         (turns ? ": do not believe this before you have tried it" : "") + ".\n";
}

Change ChangeTo(const sched::Variant& to, const History& history) {
  Change change;
  if (to.scheduler != history.in_force.scheduler) change.command = "millrace scheduler set " + to.scheduler;
  change.settings = SettingsChange(history.in_force.settings, to.settings);
  return change;
}

std::string ChangeText(const Change& change, const History& history) {
  std::string text;
  if (!change.command.empty()) text += "To change it:\n  " + change.command + "\n";
  if (change.settings.empty()) return text + "The scheduler file stays as it is.\n";
  const std::string file =
      history.settings_file.empty() ? "the scheduler file (master.scheduler_file)" : Printable(history.settings_file);
  return text + "In " + file + ":\n" + Indented(change.settings);
}

std::string AdviceText(const Advice& advice, const Material& material, const History& history) {
  std::string text = HistoryLine(material, history) + DesignLine(material, history) + "\n" +
                     cli::FormatTable(FindingsTable(material, false)) + "\n";
  if (advice.kind != AdviceKind::kNone)
    text += "Best by " + std::string(advice.metric->name) + ": " + Labels(material, advice.best) + ".\n";
  text += advice.why + "\n";
  if (advice.kind == AdviceKind::kChange) text += ChangeAdvice(advice, material, history);
  const bool changes = advice.kind == AdviceKind::kChange;
  const std::optional<double> gain =
      changes && advice.gain.ratio ? std::optional<double>(advice.gain.ratio->value) : std::nullopt;
  text += ModelLine(advice.model, *advice.metric, gain, history) + CoresLine(advice.recommended, material, history);
  if (changes) text += "\n" + ChangeText(ChangeTo(material.subject->schedulers[*advice.recommended], history), history);
  return text;
}

Json AdviceJson(const Advice& advice) { return {{"advice", AdviceName(advice.kind)}, {"why", advice.why}}; }

Json AdviceJson(const Advice& advice, const Material& material, const History& history) {
  const auto ratio = [](const sim::Comparison& comparison) {
    return comparison.ratio ? ToJson(*comparison.ratio) : Json();
  };
  Json json = AdviceJson(advice);
  json["metric"] = advice.metric->key;
  json["in_force"] = history.in_force.scheduler;
  json["jobs"] = history.file.workload.jobs.size();
  json["runs"] = material.design.blocks;
  json["redrawn"] = history.redrawn;
  json["cores_share"] = history.cores_share;
  json["heavy_tail"] = Json();
  if (const std::optional<std::size_t> few = HeavyTail(history)) json["heavy_tail"] = *few;
  json["slots_cost_nothing"] = SlotsCostNothing(history.file);
  json["best"] = Json::array();
  for (const std::uint32_t scheduler : advice.best)
    json["best"].push_back(material.subject->schedulers[scheduler].label);
  json["recommended"] = Json(), json["gain"] = Json(), json["worse"] = Json::array(), json["change"] = Json();
  if (advice.recommended) {
    json["recommended"] = material.subject->schedulers[*advice.recommended].label;
    json["gain"] = {{"before", Exact(advice.before)},
                    {"after", Exact(advice.after)},
                    {"ratio", ratio(advice.gain)},
                    {"difference", ToJson(advice.gain.difference)},
                    {"better_in", advice.better_in},
                    {"single", Json()},
                    {"as_it_was", Json()}};
    if (advice.single)
      json["gain"]["single"] = {{"low", Exact(advice.single->low)}, {"high", Exact(advice.single->high)}};
    if (advice.as_it_was)
      json["gain"]["as_it_was"] = {{"before", Exact(advice.as_it_was->before)},
                                   {"after", Exact(advice.as_it_was->after)}};
    for (const Cost& cost : advice.costs) {
      json["worse"].push_back({{"metric", cost.metric->key},
                               {"before", Exact(cost.before)},
                               {"after", Exact(cost.after)},
                               {"ratio", ratio(cost.comparison)},
                               {"difference", ToJson(cost.comparison.difference)}});
    }
    const Change change = ChangeTo(material.subject->schedulers[*advice.recommended], history);
    json["change"] = {
        {"command", change.command}, {"settings_file", history.settings_file}, {"settings", change.settings}};
  }
  json["model"] =
      advice.model ? Json{{"live", Exact(advice.model->live)}, {"simulated", Exact(advice.model->simulated)}} : Json();
  json["findings"] = FindingsOf(material);
  return json;
}

}  // namespace millrace::compare
