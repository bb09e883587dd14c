// SPDX-License-Identifier: Apache-2.0
#include "lab/study/live_page.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "lab/study/forest.h"
#include "lab/study/live_results.h"
#include "lab/study/page.h"
#include "lab/study/paper_run.h"
#include "lab/study/summary.h"
#include "lab/study/tables.h"

namespace millrace::sim::experiments {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLiveAndSimulated = "live-and-simulated";
constexpr std::size_t kWordOfWorkload = 1;    // of LiveComparison::words
constexpr std::uint64_t kSeedsApart = 1'000;  // of comparisons that are made several times
constexpr double kPercentInWhole = 100, kLeastShown = 0.005;

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns the path of a file that the paper's file names.
std::string PathBeside(const Paper& paper, const std::string& name) {
  return paper.path.substr(0, paper.path.size() - FileName(paper.path).size()) + name;
}

std::string NameOfPoint(const Paper& paper, const Point& point) {
  return paper.name + (point.label.empty() ? "" : "-" + point.label);
}

double NumberOf(const Json& value) { return value.get<double>(); }

// Returns the value of a metric with its unit.
std::string Amount(double value, const std::string& unit) {
  if (unit == "s") return Formatted("%.3g s", value);
  if (unit == "share") return Formatted("%.1f%%", kPercentInWhole * value);
  if (unit != "bytes") return Formatted("%.3g", value);
  constexpr std::pair<const char*, double> kSizes[] = {{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}};
  for (const auto& [name, size] : kSizes) {
    if (value >= size || size == 1) return Formatted("%.3g %s", value / size, name);
  }
  return {};
}

std::string Ends(const Json& found) {
  return Formatted("[%.2f, %.2f]", NumberOf(found.at("low")), NumberOf(found.at("high")));
}

std::string Interval(const Json& found) { return Formatted("%.2f ", NumberOf(found.at("value"))) + Ends(found); }

std::string Shift(const Json& found, const std::string& unit) {
  if (!found.is_object()) return "-";
  const auto part = [&](const char* key) {
    const double value = NumberOf(found.at(key));
    return (value < 0 ? "-" : "+") + Amount(std::abs(value), unit);
  };
  return part("value") + " [" + part("low") + ", " + part("high") + "]";
}

Estimate EstimateOfJson(const Json& found) {
  return {NumberOf(found.at("value")), NumberOf(found.at("low")), NumberOf(found.at("high"))};
}

// Returns the mean over the first runs of a scheduler; nothing if some run has none.
std::optional<double> MeanOfRuns(const Json& document, std::size_t scheduler, const std::string& metric) {
  double sum = 0, count = 0;
  for (const Json& run : document.at("runs")) {
    if (run.at("scheduler") != scheduler || run.at("second").get<bool>()) continue;
    const Json& value = run.at("metrics").at(metric);
    if (!value.is_number()) return std::nullopt;
    sum += value.get<double>(), ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

// A metric of a comparison under one of its rivals.
struct FindingRow {
  Json metric, found;
  std::string scheduler;
  std::optional<Json> itself;  // the baseline against itself
};

std::vector<FindingRow> RowsOf(const Json& document, const std::vector<std::string>& shown) {
  std::vector<std::string> keys;
  for (const Json& key : document.at("design").at("headline")) keys.push_back(key.get<std::string>());
  keys.insert(keys.end(), shown.begin(), shown.end());
  std::vector<FindingRow> rows;
  for (const std::string& key : keys) {
    for (const Json& metric : document.at("metrics")) {
      if (metric.at("key") != key) continue;
      for (const Json& found : document.at("comparisons")) {
        if (found.at("metric") != key) continue;
        FindingRow& row = rows.emplace_back(FindingRow{metric, found, {}, {}});
        row.scheduler = document.at("schedulers").at(found.at("scheduler").get<std::size_t>()).get<std::string>();
        const Json& same = document.at("same_against_same");
        if (same.is_object() && same.contains(key) && same.at(key).is_object()) row.itself = same.at(key);
      }
    }
  }
  return rows;
}

std::string ComparisonTable(const Json& document, const std::vector<std::string>& shown) {
  const auto baseline = document.at("design").at("baseline").get<std::size_t>();
  TextTable table;
  table.columns = {{"metric", false},          {document.at("schedulers").at(baseline).get<std::string>()},
                   {"scheduler", false},       {""},
                   {"ratio, 95% interval"},    {"verdict", false},
                   {"baseline against itself"}};
  for (const FindingRow& row : RowsOf(document, shown)) {
    const auto key = row.metric.at("key").get<std::string>(), unit = row.metric.at("unit").get<std::string>();
    const auto amount = [&](std::size_t scheduler) {
      const std::optional<double> mean = MeanOfRuns(document, scheduler, key);
      return mean ? Amount(*mean, unit) : "-";
    };
    const bool ratio = row.found.at("ratio").is_object();
    const auto verdict = row.found.at("verdict").get<std::string>();
    table.rows.push_back({row.metric.at("name").get<std::string>(), amount(baseline), row.scheduler,
                          amount(row.found.at("scheduler").get<std::size_t>()),
                          ratio ? Interval(row.found.at("ratio")) : Shift(row.found.at("shift"), unit),
                          row.metric.at("headline").get<bool>() ? verdict : "(" + verdict + ")",
                          ratio && row.itself ? Ends(*row.itself) : "-"});
  }
  return FormatMarkdown(table);
}

std::vector<std::string> Differences(const Json& parts) {
  std::vector<std::string> differences;
  for (const Json& part : parts) {
    const double difference = NumberOf(part.at("difference"));
    if (std::abs(difference) >= kLeastShown)
      differences.push_back(part.at("name").get<std::string>() + Formatted(" %+.2f s", difference));
  }
  return differences;
}

// Returns sentences on where the difference in mean turnaround comes from.
std::string SourcesText(const Json& document) {
  std::string text;
  for (const Json& source : document.at("sources")) {
    const std::vector<std::string> phases = Differences(source.at("phases")), groups = Differences(source.at("groups"));
    if (phases.empty()) continue;
    text += "- `" + document.at("schedulers").at(source.at("scheduler").get<std::size_t>()).get<std::string>() +
            "`, difference in the mean turnaround by phases of a job: " + Joined(phases, ", ") +
            (groups.size() > 1 ? "; by classes of jobs: " + Joined(groups, ", ") : "") + ".\n";
  }
  return text;
}

// Returns the command that was run, with the paper's own file in place of the workload of one of its points.
std::string Said(const LiveComparison& one, const Paper& paper) {
  std::vector<std::string> words = one.words;
  const Point& point = paper.points[one.point];
  words[kWordOfWorkload] = FileName(paper.path);
  return "`millrace " + Joined(words, " ") + " -o " + one.name + "`" +
         (point.sweep.empty() ? "" : ", point " + point.label + " of its sweep,") +
         (point.testbed.empty() ? "" : " on `testbeds/" + FileName(point.testbed) + "`");
}

class PageMaker {
 public:
  PageMaker(const std::vector<Paper>& papers, const std::string& directory) : papers_(papers), results_(directory) {}

  // `names` are those of the tables on the page.
  Result<LivePage> Make(bool complete, const std::vector<std::string>& names) {
    LivePage page;
    for (const Paper& paper : papers_) {
      bool any = false, all = true;
      for (const LiveComparison& one : ComparisonsOf(paper)) {
        MILLRACE_ASSIGN(const Json* document, results_.Document(one.name));
        any = any || document != nullptr, all = all && document != nullptr;
        complete = complete && (document != nullptr || !paper.live.simulate);
        if (document == nullptr) page.missing.push_back(one.name);
      }
      // Figures of the paper's own tables are of several comparisons.
      if (HasOwnTables(paper) ? all : any) {
        MILLRACE_TRY(AddTables(paper, &page));
      } else {
        page.left_alone.push_back(paper.name);
      }
    }
    if (complete) {
      MILLRACE_ASSIGN(page.tables[kLiveAndSimulated], LiveAndSimulated());
    } else if (std::find(names.begin(), names.end(), kLiveAndSimulated) != names.end()) {
      page.left_alone.emplace_back(kLiveAndSimulated);
    }
    return page;
  }

 private:
  static bool HasOwnTables(const Paper& paper) { return !paper.tables.empty() || !paper.claims.empty(); }

  Status AddTables(const Paper& paper, LivePage* page) {
    if (HasOwnTables(paper)) return AddOwnTables(paper, page);
    if (paper.live.times > 1) {
      MILLRACE_ASSIGN(page->tables[paper.name], AgainstItself(paper));
      return Status::Ok();
    }
    MILLRACE_ASSIGN(page->tables[paper.name], Comparisons(paper));
    std::vector<ForestRow> rows;
    for (const LiveComparison& one : ComparisonsOf(paper)) {
      MILLRACE_ASSIGN(const Json* document, results_.Document(one.name));
      if (document != nullptr) AddForest(paper, one, *document, &rows);
    }
    if (rows.empty()) return Status::Ok();
    page->pictures[paper.name] =
        ForestPlot(rows, paper.name + ": ratio to " + paper.schedulers.front().label + ", with 95% interval");
    return Status::Ok();
  }

  Result<std::string> Comparisons(const Paper& paper) {
    std::string text;
    for (const LiveComparison& one : ComparisonsOf(paper)) {
      MILLRACE_ASSIGN(const Json* document, results_.Document(one.name));
      if (!text.empty()) text += "\n";
      if (document == nullptr) {
        text += "(`" + one.name + "` has not been run.)\n";
        continue;
      }
      text += Said(one, paper) + ": " + std::to_string(document->at("design").at("repeat").get<std::uint64_t>()) +
              " runs of each scheduler.\n\n" + ComparisonTable(*document, paper.live.shown);
      const std::string sources = SourcesText(*document);
      if (!sources.empty()) text += "\n" + sources;
    }
    return text;
  }

  static void AddForest(const Paper& paper, const LiveComparison& one, const Json& document,
                        std::vector<ForestRow>* rows) {
    std::string label = paper.points[one.point].label;
    std::replace(label.begin(), label.end(), '-', ':');
    for (const FindingRow& row : RowsOf(document, paper.live.shown)) {
      if (!row.found.at("ratio").is_object()) continue;
      ForestRow& made = rows->emplace_back();
      made.label = row.scheduler + (label.empty() ? "" : " " + label) + " " + row.metric.at("name").get<std::string>();
      made.higher_is_better = row.metric.at("better") == "higher";
      made.ratio = EstimateOfJson(row.found.at("ratio"));
      if (row.itself) made.itself = EstimateOfJson(*row.itself);
    }
  }

  // The tables that the paper's file describes, with a figure for each seed.
  Status AddOwnTables(const Paper& paper, LivePage* page) {
    std::vector<Findings> seeds;
    const std::vector<LiveComparison> comparisons = ComparisonsOf(paper);
    MILLRACE_ASSIGN(const Json* first, results_.Document(comparisons.front().name));
    for (const Json& seed : first->at("design").at("seeds")) {
      LiveSource source(paper, comparisons, &results_, seed.get<std::uint64_t>());
      MILLRACE_ASSIGN(Findings findings, FillIn(paper, source));
      seeds.push_back(std::move(findings));
    }
    std::string commands;
    for (const LiveComparison& one : comparisons) commands += Said(one, paper) + ".\n\n";
    for (const TextTable& table : Summarise(seeds)) {
      page->tables[paper.name + "/" + table.id] = std::exchange(commands, "") + FormatMarkdown(table);
    }
    return Status::Ok();
  }

  class LiveSource : public FigureSource {
   public:
    LiveSource(const Paper& paper, const std::vector<LiveComparison>& comparisons, LiveResults* results,
               std::uint64_t seed)
        : paper_(paper), comparisons_(comparisons), results_(results), seed_(seed) {}

    [[nodiscard]] std::uint32_t DrawsOf(std::uint32_t) const override { return 0; }
    [[nodiscard]] Result<std::vector<double>> Of(const Operand& operand, std::uint32_t point, std::uint32_t scheduler,
                                                 const std::string& place) override {
      const auto one = std::find_if(comparisons_.begin(), comparisons_.end(),
                                    [&](const LiveComparison& other) { return other.point == point; });
      MILLRACE_ASSIGN(const SimResult result, results_->Jobs(one->name, paper_.schedulers[scheduler].label, seed_));
      const std::optional<double> value = FigureOf(operand, result);
      if (!value) return HasNone(paper_, operand, point, scheduler, place);
      return std::vector<double>{*value};
    }

   private:
    const Paper& paper_;
    const std::vector<LiveComparison>& comparisons_;
    LiveResults* results_;
    std::uint64_t seed_;
  };

  // Counts the differences that comparisons of a scheduler with itself claim.
  Result<std::string> AgainstItself(const Paper& paper) {
    constexpr const char* kVerdicts[] = {"better", "worse", "same", "undecided"};
    std::map<std::string, std::map<std::string, int>> counts;  // by metric, by verdict
    int made = 0, claims = 0;
    for (const LiveComparison& one : ComparisonsOf(paper)) {
      MILLRACE_ASSIGN(const Json* document, results_.Document(one.name));
      if (document == nullptr) continue;
      ++made;
      bool claim = false;
      for (const FindingRow& row : RowsOf(*document, {})) {
        const auto verdict = row.found.at("verdict").get<std::string>();
        ++counts[row.found.at("metric").get<std::string>()][verdict];
        claim = claim || verdict == "better" || verdict == "worse";
      }
      claims += claim ? 1 : 0;
    }
    TextTable table;
    table.caption = "Of " + std::to_string(made) + " comparisons of `" + paper.schedulers.front().label +
                    "` with itself " + std::to_string(claims) + " claim a difference.";
    table.columns = {{"metric", false}};
    for (const char* verdict : kVerdicts) table.columns.push_back({verdict});
    for (const std::string& metric : paper.live.metrics) {
      std::vector<std::string>& row = table.rows.emplace_back(std::vector{metric});
      for (const char* verdict : kVerdicts) row.push_back(std::to_string(counts[metric][verdict]));
    }
    return FormatMarkdown(table);
  }

  // Few runs have no interval.
  static std::string ErrorText(const Json& error) {
    if (!error.is_object() || !error.at("value").is_number()) return "-";
    const std::string value = Formatted("%+.1f%%", kPercentInWhole * NumberOf(error.at("value")));
    if (!error.at("low").is_number()) return value;
    return value + Formatted(" [%+.1f, %+.1f]", kPercentInWhole * NumberOf(error.at("low")),
                             kPercentInWhole * NumberOf(error.at("high")));
  }

  static std::vector<std::string> LiveRow(const Json& document, const std::string& name, std::size_t scheduler) {
    std::vector<std::string> cells = {name, document.at("schedulers").at(scheduler).get<std::string>()};
    for (const char* key : {"makespan", "turnaround"}) {
      for (const Json& row : document.at("simulated").at("metrics").at(key)) {
        if (row.at("scheduler") != scheduler) continue;
        cells.push_back(Amount(NumberOf(row.at("live")), "s"));
        cells.push_back(Amount(NumberOf(row.at("simulated")), "s"));
        cells.push_back(ErrorText(row.at("error")));
        break;
      }
    }
    return cells;
  }

  // A row for each pair of a comparison and a scheduler.
  Result<std::string> LiveAndSimulated() {
    TextTable table;
    table.columns = {{"workload", false}, {"scheduler", false}};
    for (const char* metric : {"makespan", "mean turnaround"}) {
      table.columns.push_back({std::string(metric) + " live"});
      table.columns.push_back({"simulated"});
      table.columns.push_back({"error, 95% interval"});
    }
    std::vector<std::string> taus;
    for (const Paper& paper : papers_) {
      for (const LiveComparison& one : ComparisonsOf(paper)) {
        MILLRACE_ASSIGN(const Json* document, results_.Document(one.name));
        if (document == nullptr || !document->contains("simulated") || !document->at("simulated").is_object()) continue;
        const std::size_t schedulers = document->at("schedulers").size();
        for (std::size_t scheduler = 0; scheduler < schedulers; ++scheduler)
          table.rows.push_back(LiveRow(*document, one.name, scheduler));
        std::vector<std::string> parts;
        const Json& tau = document->at("simulated").at("tau");
        for (const char* key : {"makespan", "turnaround"}) {
          if (tau.contains(key) && tau.at(key).is_number())
            parts.push_back(key + Formatted(" %.2f", NumberOf(tau.at(key))));
        }
        if (!parts.empty()) taus.push_back(one.name + ": " + Joined(parts, ", "));
      }
    }
    std::string text = FormatMarkdown(table);
    if (!taus.empty())
      text += "\nKendall's tau of the schedulers' order, live against simulated: " + Joined(taus, "; ") + ".\n";
    return text;
  }

  const std::vector<Paper>& papers_;
  LiveResults results_;
};

// Returns the names of the papers that the page has tables of, in its order, and kLiveAndSimulated if it is there.
std::vector<std::string> NamesOn(const std::string& page) {
  std::vector<std::string> names;
  for (const std::string& table : TablesOn(page)) {
    std::string name = table.substr(0, table.find('/'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::string Quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,+=:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

Status CheckTestbed(const Paper& paper, const Point& point) {
  const std::string& bed = point.testbed;
  const auto refuse = [&](const std::string& why) { return Invalid(point.place + ".testbed: " + why); };
  if (paper.where == Where::kLocal)
    return bed.empty() ? Status::Ok() : refuse("is for where = \"testbed\"; the runs of this paper are local");
  if (bed.empty()) return refuse("is missing: the file of the cluster on which the runs take place");
  if (bed.starts_with('/') || bed.starts_with('-'))
    return refuse(Quote(bed) + " is not the path of a file from the directory of the paper's file");
  if (std::error_code error; !std::filesystem::is_regular_file(PathBeside(paper, bed), error))
    return refuse("there is no file " + Quote(PathBeside(paper, bed)));
  return Status::Ok();
}

}  // namespace

Status CheckLive(const std::vector<Paper>& papers) {
  struct Owner {
    const Paper* paper;
    const Point* point;
  };
  std::map<std::string, Owner> owners;  // by name in the directory: workloads and results
  for (const Paper& paper : papers) {
    for (const Point& point : paper.points) MILLRACE_TRY(CheckTestbed(paper, point));
    for (const LiveComparison& one : ComparisonsOf(paper)) {
      const Point& point = paper.points[one.point];
      std::vector<std::string> made = {one.name};
      if (!one.text.empty()) made.push_back(one.workload);
      for (const std::string& name : made) {
        const auto [at, is_new] = owners.try_emplace(name, Owner{&paper, &point});
        if (is_new || at->second.point == &point) continue;
        const Point& other = *at->second.point;
        const auto told = [&](const Paper& of, const Point& which) {
          return of.name + (which.sweep.empty() ? "" : ", point " + Quote(which.label) + " of " + Quote(which.sweep));
        };
        return Invalid(point.place + ": " + told(paper, point) + ", is kept as " + Quote(name) + ", and so is " +
                       told(*at->second.paper, other) + " (" + other.place +
                       "); give one of them another name or label");
      }
    }
  }
  return Status::Ok();
}

std::vector<LiveComparison> ComparisonsOf(const Paper& paper) {
  std::vector<LiveComparison> comparisons;
  for (std::uint32_t p = 0; p < paper.points.size(); ++p) {
    const Point& point = paper.points[p];
    for (std::uint32_t time = 1; time <= paper.live.times; ++time) {
      LiveComparison& one = comparisons.emplace_back();
      one.point = p;
      one.name = NameOfPoint(paper, point) + (paper.live.times > 1 ? "-" + std::to_string(time) : "");
      one.workload = FileName(paper.path);
      if (!point.sweep.empty()) {
        one.workload = NameOfPoint(paper, point) + ".toml";
        one.text = paper.workloads[point.drawn_from.front()];
      }
      one.words = {"compare",     one.workload,
                   "--scheduler", Joined(sched::LabelsOf(paper.schedulers), ","),
                   "--metric",    Joined(paper.live.metrics, ","),
                   "--repeat",    std::to_string(paper.live.repeat),
                   "--on",        paper.where == Where::kLocal ? "local" : "testbed"};
      if (paper.live.simulate) one.words.emplace_back("--simulate");
      if (!paper.live.same_against_same) one.words.emplace_back("--no-same-against-same");
      if (paper.live.times > 1) {
        one.words.emplace_back("--seed");
        one.words.push_back(std::to_string(kSeedsApart * time));
      }
    }
  }
  return comparisons;
}

std::string PlanOf(const std::vector<Paper>& papers, const std::string& testbed, const std::string& directory) {
  std::string plan;
  for (const Paper& paper : papers) {
    std::string up;  // the testbed that is there
    const auto take_down = [&] {
      if (!up.empty()) plan += ")\n";
    };
    for (const LiveComparison& one : ComparisonsOf(paper)) {
      const std::string& bed = paper.points[one.point].testbed;
      if (bed != up) {
        take_down();
        up = bed;
        // In a shell of its own, which takes the testbed down however it ends.
        if (!bed.empty()) {
          plan += "(\n" + testbed + " up " + Quoted(PathBeside(paper, bed)) + " --name papers\ntrap '" + testbed +
                  " down papers' EXIT\n";
        }
      }
      std::vector<std::string> words = one.words;
      words[kWordOfWorkload] = one.text.empty() ? paper.path : directory + "/" + one.workload;
      for (std::string& word : words) word = Quoted(word);
      plan += (bed.empty() ? "" : testbed + " run --name papers -- ") + ("millrace " + Joined(words, " ")) + " -o " +
              Quoted(directory + "/" + one.name) + "\n";
    }
    take_down();
  }
  return plan;
}

Result<LivePage> MakeLivePage(std::vector<Paper> papers, const std::string& directory, const std::string& page) {
  const std::vector<std::string> on_page = NamesOn(page);
  const auto place = [&](const Paper& paper) {
    return std::find(on_page.begin(), on_page.end(), paper.name) - on_page.begin();
  };
  std::stable_sort(papers.begin(), papers.end(), [&](const Paper& a, const Paper& b) { return place(a) < place(b); });
  const bool complete = std::all_of(on_page.begin(), on_page.end(), [&](const std::string& name) {
    return name == kLiveAndSimulated ||
           std::any_of(papers.begin(), papers.end(), [&](const Paper& paper) { return paper.name == name; });
  });
  try {
    return PageMaker(papers, directory).Make(complete, on_page);
  } catch (const nlohmann::json::exception& error) {
    return Corrupt(directory + ": a document of millrace compare lacks something: " + error.what());
  }
}

}  // namespace millrace::sim::experiments
