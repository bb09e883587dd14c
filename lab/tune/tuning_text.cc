// SPDX-License-Identifier: Apache-2.0
#include "lab/tune/tuning_text.h"

#include <algorithm>
#include <cmath>

#include "base/ids/counted.h"
#include "base/text.h"
#include "client/cli/verbs.h"
#include "lab/measure/csv.h"
#include "lab/report/findings_table.h"
#include "lab/report/numbers.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::tune {
namespace {

using compare::JudgedMetric;
using compare::Material;
using Json = nlohmann::ordered_json;

// Returns a goal as it was judged. Requires: every run has a value of it.
const JudgedMetric& Judged(const Material& material, const compare::Metric* goal) {
  return *std::ranges::find(material.judged, goal, &JudgedMetric::metric);
}
bool IsJudged(const Material& material, const compare::Metric* goal) {
  return std::ranges::find(material.judged, goal, &JudgedMetric::metric) != material.judged.end();
}

std::string EffectOf(const Material& material, const compare::Metric* goal, std::uint32_t scheduler) {
  const JudgedMetric& judged = Judged(material, goal);
  const auto mean = [&](std::uint32_t of) { return sim::Mean(judged.runs.values[of]); };
  return compare::Effect(*goal, mean(material.design.baseline), mean(scheduler),
                         judged.comparison.schedulers[scheduler]);
}

std::string SearchLine(const Told& told) {
  const Parts& parts = told.parts;
  std::string text = Counted(told.tries.size(), "try", "tries") + " of " + Counted(told.schedulers, "scheduler") +
                     ", in " + Counted(told.searched.runs, "run") + " of jobs drawn from ";
  text += parts.earlier > 0 ? "the first " + std::to_string(parts.earlier) : std::string("them");
  if (told.finalists.empty()) return text + "; none of them was left\n";
  text += "; " + Counted(told.finalists.size(), "try was", "tries were") + " left, judged by " +
          std::to_string(told.material->design.blocks) + " other draws from ";
  return text + (parts.later > 0 ? "the last " + std::to_string(parts.later) : std::string("them")) + "\n";
}

// What each finalist is.
std::string FinalistLines(const Told& told) {
  std::string text;
  for (const std::size_t at : told.finalists) {
    const Try& one = told.tries[told.searched.tries[at].of];
    if (one.values.empty()) continue;
    text += one.variant.label + ":";
    for (const std::string& value : one.values) text += " " + value;
    text += "\n";
  }
  return text;
}

std::string LiveText(const Told& told) {
  const Material& live = *told.live->runs;
  std::string text = "\nOn real daemons (" + told.live->where + ", " + Counted(live.design.blocks, "run") +
                     " of each):\n" + cli::FormatTable(compare::FindingsTable(live, false));
  for (const compare::Metric* goal : told.goals) {
    if (!IsJudged(live, goal)) continue;
    const auto verdict = Judged(live, goal).comparison.schedulers[1].verdict;
    const auto said = Judged(*told.material, goal).comparison.schedulers[*told.tuning.chosen].verdict;
    text += "By " + std::string(goal->name) + " the simulator said " + std::string(sim::VerdictName(said)) +
            ", and live runs say " + std::string(sim::VerdictName(verdict)) + ".\n";
  }
  return text;
}

std::string ChosenText(const Told& told) {
  const std::uint32_t chosen = *told.tuning.chosen;
  std::string text;
  for (const compare::Metric* goal : told.goals)
    text += "With it, " + std::string(goal->name) + ": " + EffectOf(*told.material, goal, chosen) + ".\n";
  return text;
}

}  // namespace

std::string TuningText(const Told& told) {
  const compare::History& history = *told.history;
  std::string text = compare::HistoryLine(*told.material, history) + SearchLine(told) +
                     (told.note.empty() ? "" : told.note + "\n") + "\n";
  if (!told.finalists.empty())
    text += cli::FormatTable(compare::FindingsTable(*told.material, false)) + FinalistLines(told) + "\n";
  text += told.tuning.why + "\n";
  std::optional<double> gain;
  if (told.tuning.chosen) {
    text += ChosenText(told);
    const auto& ratio = Judged(*told.material, told.goals[0]).comparison.schedulers[*told.tuning.chosen].ratio;
    if (ratio) gain = ratio->value;
  }
  text += compare::ModelLine(told.model, *told.goals[0], gain, history);
  text += compare::CoresLine(told.tuning.chosen, *told.material, history);
  if (told.live) text += LiveText(told);
  if (!told.tuning.chosen) return text;
  if (!told.applied.empty()) return text + "\n" + told.applied + "\n";
  const sched::Variant& to = told.material->subject->schedulers[*told.tuning.chosen];
  text += "\n" + compare::ChangeText(compare::ChangeTo(to, history), history);
  if (to.scheduler != history.in_force.scheduler)
    text += "To go back:\n  millrace scheduler set " + history.in_force.scheduler + "\n";
  return text;
}

std::string ChosenSettings(const Told& told) {
  const sched::Variant& to = told.material->subject->schedulers[told.tuning.chosen.value()];
  return "# Settings for the scheduler " + to.scheduler + ".\n" + sched::FormatSettings(to.settings);
}

Json TuningJson(const Told& told) {
  const compare::History& history = *told.history;
  const Material& material = *told.material;
  Json json = {{"tuning", TuningName(told.tuning.kind)},
               {"why", told.tuning.why},
               {"goals", Json::array()},
               {"in_force", history.in_force.scheduler},
               {"jobs", history.file.workload.jobs.size()},
               {"searched_jobs", told.parts.earlier > 0 ? Json(told.parts.earlier) : Json()},
               {"judged_jobs", told.parts.later > 0 ? Json(told.parts.later) : Json()},
               {"tries", told.tries.size()},
               {"search_runs", told.searched.runs},
               {"runs", material.design.blocks},
               {"front", Json::array()},
               {"chosen", Json()},
               {"change", Json()},
               {"applied", !told.applied.empty()},
               {"live", Json()}};
  for (const compare::Metric* goal : told.goals) json["goals"].push_back(goal->key);
  for (const std::size_t at : told.finalists) {
    const Try& one = told.tries[told.searched.tries[at].of];
    json["front"].push_back({{"label", one.variant.label}, {"scheduler", one.variant.scheduler}, {"set", one.values}});
  }
  if (told.tuning.chosen) {
    const sched::Variant& to = material.subject->schedulers[*told.tuning.chosen];
    const compare::Change change = compare::ChangeTo(to, history);
    json["chosen"] = to.label;
    json["change"] = {
        {"command", change.command}, {"settings_file", history.settings_file}, {"settings", change.settings}};
  }
  json["model"] = told.model ? Json{{"live", compare::Exact(told.model->live)},
                                    {"simulated", compare::Exact(told.model->simulated)}}
                             : Json();
  if (told.live) json["live"] = {{"where", told.live->where}, {"findings", compare::FindingsOf(*told.live->runs)}};
  json["findings"] = told.finalists.empty() ? Json() : compare::FindingsOf(material);
  return json;
}

std::string TriesCsv(const Told& told) {
  std::string csv;
  std::vector<std::string> head{"scheduler", "settings", "draws"};
  for (const compare::Metric* goal : told.goals) head.emplace_back(goal->key);
  head.emplace_back("finalist");
  sim::csv::Line(&csv, head);
  for (std::size_t at = 0; at < told.searched.tries.size(); ++at) {
    const Found& found = told.searched.tries[at];
    const Try& one = told.tries[found.of];
    std::string values;
    for (const std::string& value : one.values) values += (values.empty() ? "" : " ") + value;
    std::vector<std::string> line{sim::csv::Field(one.variant.scheduler), sim::csv::Field(values),
                                  std::to_string(found.draws)};
    for (std::size_t goal = 0; goal < told.goals.size(); ++goal)
      line.push_back(sim::csv::Number(told.searched.ratios[goal] ? std::exp(found.losses[goal]) : found.losses[goal]));
    const bool finalist = std::ranges::find(told.finalists, at) != told.finalists.end();
    line.emplace_back(finalist ? "yes" : "no");
    sim::csv::Line(&csv, line);
  }
  return csv;
}

}  // namespace millrace::tune
