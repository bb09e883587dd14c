// SPDX-License-Identifier: Apache-2.0
#include "lab/study/live_results.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "lab/measure/csv.h"
#include "lab/measure/estimate.h"

namespace millrace::sim::experiments {
namespace {

using Json = nlohmann::ordered_json;

// Returns the fields of each line; a field may be in quotes.
std::vector<std::vector<std::string>> ParseCsv(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        line.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        line.back() += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      line.emplace_back();
    } else if (c == '\n') {
      lines.push_back(std::exchange(line, std::vector<std::string>(1)));
    } else if (c != '\r') {
      line.back() += c;
    }
  }
  return lines;
}

// The columns of a file, by name.
class Row {
 public:
  Row(const std::vector<std::string>& head, const std::vector<std::string>& fields) : head_(head), fields_(fields) {}

  [[nodiscard]] std::string Text(std::string_view column) const {
    const auto at = static_cast<std::size_t>(std::find(head_.begin(), head_.end(), column) - head_.begin());
    return at < fields_.size() ? fields_[at] : "";
  }
  [[nodiscard]] double Number(const std::string& column) const {
    const std::string text = Text(column);
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  [[nodiscard]] Micros Time(const std::string& column) const {
    return static_cast<Micros>(std::llround(Number(column) * static_cast<double>(kSecond)));
  }

 private:
  const std::vector<std::string>&head_, &fields_;
};

JobRow JobOf(const Row& row) {
  JobRow job;
  job.name = row.Text("name"), job.user = row.Text("user"), job.pool = row.Text("pool"), job.group = row.Text("class");
  job.maps = static_cast<std::uint32_t>(row.Number("maps")),
  job.reduces = static_cast<std::uint32_t>(row.Number("reduces"));
  job.submitted = job.started = true;
  job.submit = row.Time("submit"), job.start = row.Time("start"), job.end = row.Time("end");
  job.deadline = row.Time("deadline");
  const std::string outcome = row.Text("outcome");
  if (outcome == "succeeded") job.outcome = sched::JobOutcome::kSucceeded;
  if (outcome == "failed") job.outcome = sched::JobOutcome::kFailed;
  if (outcome == "killed") job.outcome = sched::JobOutcome::kKilled;
  for (std::size_t level = 0; level < 4; ++level)
    job.maps_at[level] = static_cast<std::uint32_t>(row.Number(std::string("maps_") + csv::kLevels[level]));
  return job;
}

// Returns the metric of the first runs of a scheduler, by block; nothing if some run has none.
std::optional<std::vector<double>> RunsOf(const Json& document, std::size_t scheduler, const std::string& metric) {
  std::map<std::uint64_t, double> by_block;
  for (const Json& run : document.at("runs")) {
    if (run.at("scheduler") != scheduler || run.at("second").get<bool>()) continue;
    const Json& value = run.at("metrics").at(metric);
    if (!value.is_number()) return std::nullopt;
    by_block[run.at("block").get<std::uint64_t>()] = value.get<double>();
  }
  std::vector<double> values;
  for (const auto& [block, value] : by_block) values.push_back(value);
  return values;
}

// A document is written with nine digits.
bool Near(double a, double b) { return std::abs(a - b) <= 1e-4 * std::max(std::abs(a), std::abs(b)); }

// Returns how a ratio of the document differs from that of its runs; empty if it does not.
std::string Difference(const Json& document, const Json& found) {
  if (!found.at("ratio").is_object()) return {};
  const auto baseline = document.at("design").at("baseline").get<std::size_t>();
  const auto scheduler = found.at("scheduler").get<std::size_t>();
  const auto metric = found.at("metric").get<std::string>();
  const auto theirs = RunsOf(document, baseline, metric), ours = RunsOf(document, scheduler, metric);
  const std::string where = metric + ", " + document.at("schedulers").at(scheduler).get<std::string>() + ": ";
  if (!theirs || !ours || theirs->size() != ours->size() || ours->size() < 2)
    return where + "the document has a ratio, and some run has none";
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours->size(); ++i) {
    if ((*theirs)[i] <= 0 || (*ours)[i] <= 0) return where + "the document has a ratio, and some run has none";
    ratios.push_back((*ours)[i] / (*theirs)[i]);
  }
  const Estimate estimate = RatioByBootstrapT(ratios);
  const auto said = [&](const char* key) { return found.at("ratio").at(key).get<double>(); };
  if (Near(estimate.value, said("value")) && Near(estimate.low, said("low")) && Near(estimate.high, said("high")))
    return {};
  char text[160];
  std::snprintf(text, sizeof text, "the document has %.4f [%.4f, %.4f], its runs give %.4f [%.4f, %.4f]", said("value"),
                said("low"), said("high"), estimate.value, estimate.low, estimate.high);
  return where + text;
}

}  // namespace

Result<const Json*> LiveResults::Document(const std::string& name) {
  if (const auto at = documents_.find(name); at != documents_.end()) return &at->second;
  const std::string path = directory_ + "/" + name + "/comparison.json";
  if (std::error_code error; !std::filesystem::exists(path, error)) return nullptr;
  MILLRACE_ASSIGN(const std::string text, ReadWholeFile(path));
  try {
    Json document = Json::parse(text);
    if (document.at("format") != "millrace.comparison/1") return Corrupt(path + ": not a document of millrace compare");
    for (const Json& found : document.at("comparisons")) {
      const std::string difference = Difference(document, found);
      if (!difference.empty()) return Corrupt(path + ": " + difference);
    }
    return &documents_.emplace(name, std::move(document)).first->second;
  } catch (const nlohmann::json::exception& error) {
    return Corrupt(path + ": not a document of millrace compare: " + error.what());
  }
}

Status LiveResults::ReadJobs(const std::string& name) {
  const std::string path = directory_ + "/" + name + "/jobs.csv";
  MILLRACE_ASSIGN(const std::string text, ReadWholeFile(path));
  const std::vector<std::vector<std::string>> lines = ParseCsv(text);
  if (lines.empty()) return Corrupt(path + ": has no head");
  std::map<Key, SimResult>& results = jobs_[name];
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Row row(lines[0], lines[i]);
    if (row.Text("second") != "0") continue;
    results[Key(row.Text("scheduler"), static_cast<std::uint64_t>(row.Number("seed")))].jobs.push_back(JobOf(row));
  }
  for (auto& [key, result] : results) Summarise(&result);
  return Status::Ok();
}

Result<SimResult> LiveResults::Jobs(const std::string& name, const std::string& scheduler, std::uint64_t seed) {
  if (!jobs_.contains(name)) MILLRACE_TRY(ReadJobs(name));
  const std::map<Key, SimResult>& results = jobs_[name];
  const auto at = results.find(Key(scheduler, seed));
  if (at == results.end())
    return NotFound(directory_ + "/" + name + "/jobs.csv has no run of " + scheduler + " with the seed " +
                    std::to_string(seed));
  return at->second;
}

}  // namespace millrace::sim::experiments
