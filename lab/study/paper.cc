// SPDX-License-Identifier: Apache-2.0
#include "lab/study/paper.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "base/toml_value.h"
#include "lab/study/figures.h"
#include "lab/study/paper_text.h"
#include "lab/study/paper_words.h"
#include "lab/workload/simulation_file.h"
#include "lab/workload/toml_section.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/make_scheduler.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::sim::experiments {
namespace {

constexpr std::uint32_t kMostSeeds = 1'000, kMostDraws = 1'000, kMostTimes = 1'000;
constexpr std::size_t kMostPoints = 10'000, kMostDeciding = 3;

// A key of the workload, as "jobs.scan.maps", and its value, which is a node of the file's table.
using Changes = std::vector<std::pair<std::string, const toml::node*>>;

std::vector<std::string> PartsOf(const std::string& key) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    parts.push_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Returns the table of a class of jobs; null if there is none of this name.
toml::table* ClassOf(toml::table& workload, const std::string& name) {
  toml::array* classes = workload["jobs"].as_array();
  for (std::size_t i = 0; classes != nullptr && i < classes->size(); ++i) {
    toml::table* one = classes->get(i)->as_table();
    if (one != nullptr && (*one)["name"].value<std::string>() == name) return one;
  }
  return nullptr;
}

// Returns the reason why the key cannot be changed at a point; none if it can.
std::optional<std::string> NotOfWorkload(const std::string& key) {
  const std::string root = key.substr(0, key.find('.'));
  if (root == "settings") return Quote(key) + " is not of the workload; `settings` of the scheduler has it";
  if (root == "seed") return Quote(key) + " is not of the workload; `seeds` of [paper] and --seed say the seeds";
  for (const char* of_paper : {"name", "paper", "schedulers", "sweep", "tables", "claims"}) {
    if (root == of_paper) return Quote(key) + " is of the paper, and not of the workload";
  }
  return std::nullopt;
}

// Returns whether the key is of schedulers, as "settings.fresh.k" (of all) or "schedulers.NAME.settings.fresh.k".
bool IsOfSchedulers(const std::string& key) { return key.starts_with("settings.") || key.starts_with("schedulers."); }

// Sets a key of the workload, or of a scheduler's table. Returns kInvalid, without a place, if the key leads nowhere.
Status Apply(const std::string& key, const toml::node& value, toml::table* workload) {
  const std::vector<std::string> parts = PartsOf(key);
  if (std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); }))
    return Invalid(Quote(key) + " is not a key of a workload, as cluster.nodes or jobs.CLASS.maps");
  toml::table* at = workload;
  std::size_t next = 0;
  if (parts[0] == "jobs") {
    if (parts.size() < 3) return Invalid(Quote(key) + " does not name a class and a key of it, as jobs.CLASS.maps");
    at = ClassOf(*workload, parts[1]);
    if (at == nullptr) return Invalid("there is no class of jobs with the name " + Quote(parts[1]));
    next = 2;
  }
  for (; next + 1 < parts.size(); ++next) {
    if (!at->contains(parts[next])) at->insert(parts[next], toml::table{});
    toml::table* inner = (*at)[parts[next]].as_table();
    if (inner == nullptr)
      return Invalid(Quote(key) + " leads through " + Quote(parts[next]) + ", which is not a section");
    at = inner;
  }
  if (next == 0 && (value.is_table() || value.is_array_of_tables()))
    return Invalid(Quote(key) + " is a section; quote keys with a dot, as \"cluster.nodes\"");
  at->insert_or_assign(parts[next], value);
  return Status::Ok();
}

std::string TextOf(const toml::table& table) {
  std::ostringstream out;
  out << toml::toml_formatter(table, toml::toml_formatter::default_flags & ~toml::format_flags::allow_literal_strings);
  out << '\n';
  return out.str();
}

// Returns the message of an error without the file and line in front: they are of a text that nobody wrote.
std::string WithoutPlace(const std::string& message, const std::string& file_name) {
  if (!message.starts_with(file_name + ":")) return message;
  const std::size_t at = message.find(": ", file_name.size());
  return at == std::string::npos ? message : message.substr(at + 2);
}

class Reader {
 public:
  Reader(const toml::table& table, const std::string& file_name)
      : table_(table), file_name_(file_name), root_(table, "", file_name, &failure_) {}

  Result<Paper> Read() {
    paper_.path = file_name_;
    paper_.name = file_name_.substr(file_name_.rfind('/') + 1);
    root_.Text("name", &paper_.name);
    if (Status texts = CheckTexts(table_, file_name_); !texts.ok() && failure_.ok()) failure_ = std::move(texts);
    if (!IsPlain(paper_.name)) root_.Fail("name", NotPlain(paper_.name));
    ReadHead();
    ReadSchedulers();
    ReadSweeps();
    DrawWorkloads();
    for (TomlSection& section : root_.Tables("tables")) ReadTable(section);
    for (TomlSection& section : root_.Tables("claims")) ReadClaim(section);
    if (failure_.ok() && paper_.where == Where::kSimulated && paper_.tables.empty() && paper_.claims.empty())
      failure_ = Invalid(file_name_ + ": the paper has neither [[tables]] nor [[claims]], so there is nothing to run");
    if (!failure_.ok()) return failure_;
    return std::move(paper_);
  }

 private:
  void ReadHead() {
    std::optional<TomlSection> head = root_.Table("paper");
    if (!head) return root_.Fail("paper", "the section is missing");
    head->Text("title", &paper_.title), head->Text("authors", &paper_.authors), head->Text("section", &paper_.section);
    std::string where = "simulated";
    head->Text("where", &where);
    constexpr NamedValue<Where> kPlaces[] = {
        {"simulated", Where::kSimulated}, {"local", Where::kLocal}, {"testbed", Where::kTestbed}};
    paper_.where = OneOf(*head, "where", where, kPlaces);
    if (head->Has("schedulers")) head->Texts("schedulers", &names_);
    const bool simulated = paper_.where == Where::kSimulated;
    if (root_.Has("seed"))
      root_.Fail("seed", simulated ? "is not for a paper that is simulated; `seeds` and --seed say the seeds"
                                   : "is not for a live paper; each run has a seed of its own");
    if (simulated) {
      head->Integer("seeds", &paper_.seeds, 1, kMostSeeds);
      head->Integer("draws", &draws_, 1, kMostDraws);
      ReadDraw(*head);
    } else {
      ReadLive(*head);
    }
    head->Finish();
  }

  void ReadDraw(TomlSection& head) {
    std::vector<std::string> names = {paper_.draw};
    if (head.Has("draw")) head.Texts("draw", &names);
    if (names.size() > 2) head.Fail("draw", "gives more than what one draw and several are called");
    paper_.draw = names.front(), paper_.draws = names.size() == 2 ? names.back() : names.front() + 's';
  }

  void ReadLive(TomlSection& head) {
    LiveDesign& live = paper_.live;
    head.Text("testbed", &testbed_);
    head.Texts("metrics", &live.metrics);
    head.Texts("shown", &live.shown);
    for (const auto& [key, metrics] : {std::pair("metrics", &live.metrics), std::pair("shown", &live.shown)}) {
      for (const std::string& metric : *metrics) {
        if (compare::FindMetric(metric) == nullptr) return Unknown(head, key, "metric", metric, compare::MetricKeys());
        if (std::count(metrics->begin(), metrics->end(), metric) > 1)
          return head.Fail(key, "names " + metric + " twice");
      }
    }
    head.Integer("repeat", &live.repeat, 2, kMostSeeds);
    head.Integer("times", &live.times, 1, kMostTimes);
    head.Bool("same_against_same", &live.same_against_same);
    head.Bool("simulate", &live.simulate);
    if (live.metrics.empty()) head.Fail("metrics", "is missing; name the metrics that decide");
    if (live.metrics.size() > kMostDeciding)
      head.Fail("metrics", "names more than " + std::to_string(kMostDeciding) + " metrics; further ones are `shown`");
    if (names_.size() == 1)
      head.Fail("schedulers", "names one scheduler only; to compare it with itself, name it twice");
  }

  // Puts the tables of `from` into those of `to`, down to the single settings.
  static void Merge(const toml::table& from, toml::table* to) {
    for (const auto& [name, value] : from) {
      const toml::table* inner = value.as_table();
      toml::table* there = (*to)[name.str()].as_table();
      if (inner == nullptr || there == nullptr) {
        to->insert_or_assign(name, value);
      } else {
        Merge(*inner, there);
      }
    }
  }

  // Sets the variant up by [settings] of all, with its own on top. Returns kInvalid, without a place.
  Status SetUp(toml::table settings, const toml::table* own, sched::Variant* variant) {
    if (own != nullptr) Merge(*own, &settings);
    variant->settings_text = settings.empty() ? "" : TextOf(settings);
    Result<sched::Settings> read = sched::ParseSettings(variant->settings_text, file_name_);
    if (!read.ok()) return Invalid(WithoutPlace(read.status().message(), file_name_));
    variant->settings = std::move(*read);
    std::string why;
    const auto policy = sched::MakePolicy(variant->scheduler, variant->settings, &why);
    if (policy == nullptr) return Invalid(why + sched::NearestScheduler(variant->scheduler));
    if (variant->label == variant->scheduler) variant->label = policy->name();
    variant->scheduler = policy->name();
    return Status::Ok();
  }

  [[nodiscard]] toml::table CommonSettings() const {
    const toml::table* all = table_["settings"].as_table();
    return all != nullptr ? *all : toml::table();
  }

  // Sets up the schedulers that are others at a point: `schedulers.NAME.policy`, `schedulers.NAME.settings.KEY`, and
  // `settings.KEY` of all.
  Status SetUpAt(const Changes& changes, Point* point) {
    toml::table all{{"settings", CommonSettings()}};
    std::map<std::uint32_t, toml::table> own;
    for (const auto& [key, value] : changes) {
      if (key.starts_with("settings.")) MILLRACE_TRY(Apply(key, *value, &all));
      if (!key.starts_with("schedulers.")) continue;
      const std::string rest = key.substr(std::string_view("schedulers.").size());
      const std::size_t end = std::min(rest.find(".settings."), rest.rfind(".policy"));
      const std::vector<std::string> labels = sched::LabelsOf(paper_.schedulers);
      const auto at = std::find(labels.begin(), labels.end(), rest.substr(0, end));
      if (end == std::string::npos || (rest[end + 1] == 'p' && !rest.ends_with(".policy")))
        return Invalid(Quote(key) + " is neither schedulers.NAME.policy nor schedulers.NAME.settings.SECTION.KEY");
      if (at == labels.end()) return Invalid("there is no scheduler with the name " + Quote(rest.substr(0, end)));
      MILLRACE_TRY(Apply(rest.substr(end + 1), *value, &own[static_cast<std::uint32_t>(at - labels.begin())]));
    }
    for (std::uint32_t s = 0; s < paper_.schedulers.size(); ++s) {
      sched::Variant variant = paper_.schedulers[s];
      toml::table settings = own_settings_[s];
      if (const toml::table* changed = own[s]["settings"].as_table()) Merge(*changed, &settings);
      if (own[s].contains("policy")) {
        const auto policy = own[s]["policy"].value_exact<std::string>();
        if (!policy) return Invalid("a policy that is no text");
        variant.scheduler = *policy;
      }
      MILLRACE_TRY(SetUp(*all["settings"].as_table(), &settings, &variant));
      const sched::Variant& usual = paper_.schedulers[s];
      variant.label = usual.label;
      if (variant.scheduler != usual.scheduler || variant.settings_text != usual.settings_text)
        point->variants.emplace(s, std::move(variant));
    }
    return Status::Ok();
  }

  void ReadSchedulers() {
    const std::optional<TomlSection> common = root_.Table("settings");
    std::vector<TomlSection> sections = root_.Tables("schedulers");
    // A live cluster has one scheduler file, its master's.
    if (paper_.where != Where::kSimulated && (common || !sections.empty()))
      root_.Fail(common ? "settings" : "schedulers", "is not for live runs; name the schedulers in [paper]");
    std::optional<TomlSection> head = failure_.ok() ? root_.Table("paper") : std::nullopt;
    if (!head) return;
    if (names_.empty() == sections.empty())
      return head->Fail("schedulers", "name the schedulers here, or each in [[schedulers]]");
    for (const std::string& name : names_) {
      sched::Variant variant{.label = name, .scheduler = name};
      if (const Status set = SetUp(CommonSettings(), nullptr, &variant); !set.ok())
        return head->Fail("schedulers", set.message());
      AddScheduler(*head, "schedulers", std::move(variant), {});
      own_settings_.emplace_back();
    }
    for (TomlSection& section : sections) {
      sched::Variant variant;
      section.Text("policy", &variant.scheduler);
      variant.label = variant.scheduler;
      section.Text("name", &variant.label);
      const std::optional<TomlSection> own = section.Table("settings");
      if (const Status set = SetUp(CommonSettings(), own ? &own->table() : nullptr, &variant); !set.ok())
        return section.Fail("settings", set.message());
      AddScheduler(section, "name", std::move(variant), ReadChanges(section, false));
      own_settings_.push_back(own ? own->table() : toml::table());
      section.Finish();
    }
  }

  void AddScheduler(TomlSection& section, std::string_view key, sched::Variant variant, Changes changes) {
    const std::vector<std::string> labels = sched::LabelsOf(paper_.schedulers);
    // Against itself a scheduler may stand twice.
    if (paper_.where == Where::kSimulated && std::find(labels.begin(), labels.end(), variant.label) != labels.end())
      return section.Fail(key, "there are two schedulers with the name " + Quote(variant.label));
    paper_.schedulers.push_back(std::move(variant));
    scheduler_changes_.push_back(std::move(changes));
  }

  // Returns why the key cannot be changed at a point; none if it can.
  [[nodiscard]] std::optional<std::string> NotOfPoint(const std::string& key) const {
    if (!IsOfSchedulers(key)) return NotOfWorkload(key);
    if (paper_.where != Where::kSimulated)
      return Quote(key) + " is not for live runs, whose cluster has one scheduler file";
    return std::nullopt;
  }

  // Reads `set`: keys of the workload, and at a point those of schedulers, and their values.
  Changes ReadChanges(TomlSection& section, bool of_point) {
    Changes changes;
    const toml::node* node = section.Node("set");
    if (node == nullptr) return changes;
    if (!node->is_table()) {
      section.Fail("set", "not a table of keys and values, as { \"cluster.nodes\" = 20 }");
      return changes;
    }
    for (const auto& [key, value] : *node->as_table()) {
      const std::string name(key.str());
      if (const auto why = of_point ? NotOfPoint(name) : NotOfWorkload(name)) section.Fail("set", *why);
      changes.emplace_back(name, &value);
    }
    return changes;
  }

  void ReadSweeps() {
    std::vector<TomlSection> sweeps = root_.Tables("sweep");
    if (!failure_.ok()) return;
    if (sweeps.empty()) {
      paper_.points.push_back(
          {.sweep = "", .label = "", .draws = draws_, .place = root_.Where("paper"), .testbed = testbed_});
      point_changes_.emplace_back();
    }
    for (TomlSection& section : sweeps) ReadSweep(section);
  }

  void ReadSweep(TomlSection& section) {
    Point point{.draws = draws_, .place = section.Where(), .testbed = testbed_};
    section.Text("name", &point.sweep);
    const bool live = paper_.where != Where::kSimulated;
    if (!live) section.Integer("draws", &point.draws, 1, kMostDraws);
    if (live) section.Text("testbed", &point.testbed);
    const Changes fixed = ReadChanges(section, true);
    std::vector<std::string> keys, labels, testbeds;
    if (section.Has("keys")) section.Texts("keys", &keys);
    if (section.Has("key")) section.Texts("key", &keys);
    if (section.Has("key") && section.Has("keys")) section.Fail("keys", "`key` is given too; leave one of them out");
    for (const std::string& key : keys) {
      if (const auto why = NotOfPoint(key)) section.Fail(section.Has("key") ? "key" : "keys", *why);
    }
    const toml::node* values = section.Node("values");
    if (section.Has("labels")) section.Texts("labels", &labels);
    if (live && section.Has("testbeds")) section.Texts("testbeds", &testbeds);
    section.Finish();
    if (!section.ok()) return;
    if (point.sweep.empty()) return section.Fail("name", "is missing");
    if (FindSweep(point.sweep) != nullptr)
      return section.Fail("name", "there are two sweeps with the name " + Quote(point.sweep));
    const toml::array* list = values != nullptr ? values->as_array() : nullptr;
    if (keys.empty() != (values == nullptr)) return section.Fail("values", "`key` and `values` go together");
    if (values != nullptr && (list == nullptr || list->empty()))
      return section.Fail("values", "not a list of values, as [5, 10, 20]");
    const std::size_t count = list != nullptr ? list->size() : 1;
    if (count + paper_.points.size() > kMostPoints) return section.Fail("values", "too many points");
    if (!labels.empty() && (list == nullptr || labels.size() != count))
      return section.Fail("labels", "not as many as `values`");
    if (!testbeds.empty() && testbeds.size() != count) return section.Fail("testbeds", "not as many as `values`");
    for (std::size_t i = 0; i < count; ++i) {
      Changes changes = fixed;
      if (list != nullptr) {
        if (!AddValue(section, keys, *list->get(i), labels.empty() ? nullptr : &labels[i], &point, &changes)) return;
      }
      const char* named = labels.empty() ? "values" : "labels";
      if (const auto why = NotForPage(point.label)) return section.Fail(named, *why);
      // A live point's label is part of the names of its files.
      if (live && list != nullptr && !IsPlain(point.label)) return section.Fail(named, NotPlain(point.label));
      for (const Point& other : paper_.points) {
        if (other.sweep == point.sweep && other.label == point.label)
          return section.Fail("values", "there are two points " + Quote(point.label) + "; give them `labels`");
      }
      if (!testbeds.empty()) point.testbed = testbeds[i];
      paper_.points.push_back(point);
      point_changes_.push_back(std::move(changes));
    }
  }

  // Takes one of the values of a sweep. Returns false after a failure.
  bool AddValue(TomlSection& section, const std::vector<std::string>& keys, const toml::node& value,
                const std::string* label, Point* point, Changes* changes) {
    const auto fail = [&](const std::string& why) {
      section.Fail("values", why);
      return false;
    };
    if (keys.size() == 1) {
      changes->emplace_back(keys[0], &value);
    } else {
      const toml::array* each = value.as_array();
      if (each == nullptr || each->size() != keys.size())
        return fail("a point is a list of " + std::to_string(keys.size()) + " values here, one for each of `keys`");
      for (std::size_t k = 0; k < keys.size(); ++k) changes->emplace_back(keys[k], each->get(k));
    }
    if (label != nullptr) {
      point->label = *label;
      return true;
    }
    const toml::array* each = value.as_array();
    const std::optional<std::string> text =
        WordOf(each != nullptr && keys.size() > 1 && !each->empty() ? *each->get(0) : value);
    if (!text) return fail("a value that is neither a text nor a number; give the points `labels`");
    point->label = *text;
    return true;
  }

  [[nodiscard]] const Point* FindSweep(const std::string& name) const {
    const auto at = std::find_if(paper_.points.begin(), paper_.points.end(),
                                 [&](const Point& point) { return point.sweep == name; });
    return at == paper_.points.end() ? nullptr : &*at;
  }

  // Makes the workload of each point and scheduler, and tries whether it can be drawn.
  void DrawWorkloads() {
    if (!failure_.ok()) return;
    toml::table base = table_;
    for (const char* key : {"paper", "schedulers", "settings", "sweep", "tables", "claims"}) base.erase(key);
    std::map<std::string, std::uint32_t> known;
    for (std::size_t p = 0; p < paper_.points.size(); ++p) {
      if (std::any_of(point_changes_[p].begin(), point_changes_[p].end(),
                      [](const auto& change) { return IsOfSchedulers(change.first); })) {
        if (const Status set = SetUpAt(point_changes_[p], &paper_.points[p]); !set.ok())
          return Refuse(paper_.points[p], set.message());
      }
      for (std::size_t s = 0; s < paper_.schedulers.size(); ++s) {
        toml::table changed = base;
        std::string with;
        for (const Changes* changes : {&point_changes_[p], &scheduler_changes_[s]}) {
          for (const auto& [key, value] : *changes) {
            if (IsOfSchedulers(key)) continue;
            if (const Status applied = Apply(key, *value, &changed); !applied.ok())
              return Refuse(paper_.points[p], applied.message());
            with += (with.empty() ? "with " : ", ") + key;
          }
        }
        std::string text = TextOf(changed);
        const auto [at, is_new] = known.try_emplace(text, static_cast<std::uint32_t>(paper_.workloads.size()));
        paper_.points[p].drawn_from.push_back(at->second);
        if (!is_new) continue;
        const Result<SimulationFile> drawn = ParseSimulationAt(file_name_, text, {});
        Status fit = drawn.ok() ? Status::Ok() : drawn.status();
        if (drawn.ok() && paper_.where == Where::kSimulated) fit = drawn->CheckSimulable();
        if (!fit.ok())
          return Refuse(paper_.points[p], (with.empty() ? "" : with + ": ") + WithoutPlace(fit.message(), file_name_));
        if (const std::string file = FileBeside(*drawn, changed); IsWrittenElsewhere(paper_.points[p]) && !file.empty())
          return Refuse(paper_.points[p], Quote(file) +
                                              " is a path from this file, and the workloads of a live sweep " +
                                              "are files elsewhere; give an absolute path");
        for (const LiveClass& one : drawn->live.classes) classes_.push_back(one.name);
        paper_.workloads.push_back(std::move(text));
      }
    }
  }

  // In a live paper each point of a sweep has a workload file of its own.
  [[nodiscard]] bool IsWrittenElsewhere(const Point& point) const {
    return paper_.where != Where::kSimulated && !point.sweep.empty();
  }

  // Returns the first file that the workload names by a path from its own file: a program or a trace.
  static std::string FileBeside(const SimulationFile& workload, const toml::table& table) {
    for (const LiveClass& one : workload.live.classes) {
      if (one.program.find('/') != std::string::npos && !one.program.starts_with('/')) return one.program;
    }
    const std::string trace = table["trace"]["file"].value_or(std::string());
    return trace.starts_with('/') ? "" : trace;
  }

  void Refuse(const Point& point, const std::string& why) {
    if (failure_.ok()) failure_ = Invalid(point.place + ": " + why);
  }

  // Returns the figure of the words, and notes what its runs have to keep.
  Reckoning Figure(TomlSection& section, const FigureWords& words) {
    Reckoning reckoning = Reckon(paper_, classes_, section, words);
    for (const std::vector<Operand>* side : {&reckoning.ours, &reckoning.theirs, &reckoning.ranked_by}) {
      for (const Operand& operand : *side) {
        if (operand.metric == nullptr) continue;
        paper_.slowdowns = paper_.slowdowns || operand.metric->key.ends_with("slowdown");
        paper_.samples = paper_.samples || IsOfSamples(*operand.metric);
        paper_.tasks = paper_.tasks || IsOfTasks(*operand.metric);
      }
    }
    return reckoning;
  }

  Cell GivenCell(TomlSection& section, std::string_view key, const toml::node& node) {
    if (node.is_number()) {
      const double number = *node.value<double>();
      if (!IsInRange(number)) section.Fail(key, "a number that is not from -1e12 to 1e12");
      return number;
    }
    const std::optional<std::string> text = node.value<std::string>();
    if (!text) section.Fail(key, "not a text or a number");
    if (!text || text->empty()) return {};
    return *text;
  }

  std::vector<Cell> GivenCells(TomlSection& section, std::string_view key, std::size_t count) {
    std::vector<Cell> cells;
    const toml::node* node = section.Node(key);
    const toml::array* list = node != nullptr ? node->as_array() : nullptr;
    if (node == nullptr) return cells;
    if (list == nullptr || list->size() != count) {
      section.Fail(key, "not a list of " + std::to_string(count) + " texts and numbers; \"\" is an empty cell");
      return cells;
    }
    for (const toml::node& one : *list) cells.push_back(GivenCell(section, key, one));
    return cells;
  }

  struct RowWords {
    Cell name;
    FigureWords words;
    std::vector<Cell> cells;  // of the file, in place of figures
  };

  // Reads the rows: each with words of its own, or one for each of some points or schedulers.
  std::vector<RowWords> ReadRows(TomlSection& section, std::size_t columns) {
    std::vector<RowWords> rows;
    for (TomlSection& row : section.Tables("rows")) {
      RowWords& read = rows.emplace_back();
      if (const toml::node* name = row.Node("name")) read.name = GivenCell(row, "name", *name);
      read.cells = GivenCells(row, "cells", columns);
      read.words = ReadFigureWords(row);
      row.Finish();
    }
    for (const char* key : {"points", "schedulers", "classes"}) {
      const toml::node* node = section.Node(key);
      if (node == nullptr) continue;
      const toml::array* list = node->as_array();
      for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        RowWords& read = rows.emplace_back();
        read.name = GivenCell(section, key, *list->get(i));
        const std::optional<std::string> word = WordOf(*list->get(i));
        if (!word) {
          section.Fail(key, "not a list of texts and numbers");
          return rows;
        }
        if (std::string_view(key) == "points") {
          read.words.ours.points = {*word};
        } else if (std::string_view(key) == "classes") {
          read.words.ours.classes = {*word};
        } else {
          read.words.ours.of = {*word};
        }
      }
      if (list == nullptr) section.Fail(key, "not a list of texts and numbers");
    }
    if (rows.empty()) section.Fail("rows", "is missing, and so are `points`, `schedulers` and `classes`");
    return rows;
  }

  void ReadTable(TomlSection& section) {
    PaperTable table;
    std::string head;
    section.Text("id", &table.id), section.Text("title", &table.title), section.Text("head", &head);
    const auto same = [&](const PaperTable& other) { return other.id == table.id; };
    if (table.id.empty() || table.id == "claims") section.Fail("id", "is missing, or is the id of the table of claims");
    if (!IsPlain(table.id)) section.Fail("id", NotPlain(table.id));
    if (std::any_of(paper_.tables.begin(), paper_.tables.end(), same))
      section.Fail("id", "there are two tables of this id");
    std::vector<TomlSection> columns = section.Tables("columns");
    if (columns.empty()) section.Fail("columns", "is missing");
    const std::vector<RowWords> rows = ReadRows(section, columns.size());
    const FigureWords common = ReadFigureWords(section);
    section.Finish();
    if (!section.ok()) return;
    table.columns.push_back(Given(head));
    for (const RowWords& row : rows) table.rows.push_back({{row.name}});
    for (std::size_t c = 0; c < columns.size() && section.ok(); ++c) ReadColumn(columns[c], c, common, rows, &table);
    paper_.tables.push_back(std::move(table));
  }

  void ReadColumn(TomlSection& column, std::size_t number, const FigureWords& common, const std::vector<RowWords>& rows,
                  PaperTable* table) {
    std::string name;
    column.Text("name", &name);
    const bool is_given = column.Has("given");
    const std::vector<Cell> given = GivenCells(column, "given", rows.size());
    const FigureWords words = ReadFigureWords(column);
    column.Finish();
    Column made = Given(name, static_cast<int>(words.decimals.value_or(0)));
    std::optional<As> as;  // of the rows above
    double scale = 1;
    for (std::size_t r = 0; r < rows.size() && column.ok(); ++r) {
      PaperCell& cell = table->rows[r].emplace_back();
      if (is_given) {
        cell.given = given[r];
      } else if (!rows[r].cells.empty()) {
        cell.given = rows[r].cells[number];
      } else {
        // The column's words come first, then the row's, then the table's.
        const FigureWords all = Or(Or(words, rows[r].words), common);
        cell.ours = Figure(column, all);
        if (as && *as != cell.ours->as) column.Fail("", "its rows are computed in different ways (`as`)");
        const int before = made.decimals;
        made = ColumnOf(name, all, cell.ours->as);
        if (as && made.decimals != before) column.Fail("", "its rows have different `decimals`");
        if (as && cell.ours->scale != scale) column.Fail("", "its rows have different units (`unit`)");
        as = cell.ours->as, scale = cell.ours->scale;
      }
    }
    table->columns.push_back(std::move(made));
  }

  std::vector<double> Numbers(TomlSection& section, std::string_view key) {
    std::vector<double> numbers;
    const toml::node* node = section.Node(key);
    const toml::array* list = node != nullptr ? node->as_array() : nullptr;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      if (list->get(i)->is_number()) numbers.push_back(*list->get(i)->value<double>());
    }
    if (node != nullptr && (list == nullptr || list->size() != 2 || numbers.size() != 2))
      section.Fail(key, "not a list of two numbers");
    if (!std::all_of(numbers.begin(), numbers.end(), IsInRange))
      section.Fail(key, "a number that is not from -1e12 to 1e12");
    if (numbers.size() != 2) numbers.assign(2, 0);
    return numbers;
  }

  // Reads the range within which the claim is borne out: exactly one of five keys.
  Expected ReadExpected(TomlSection& section, double none) {
    constexpr std::array kKeys = {"at_least", "at_most", "within", "size", "effect"};
    const auto given = std::count_if(kKeys.begin(), kKeys.end(), [&](const char* key) { return section.Has(key); });
    if (given != 1) section.Fail("", "give one of at_least, at_most, within, size and effect");
    double bound = 0;
    section.Real("at_least", &bound, -kMostNumber, kMostNumber);
    section.Real("at_most", &bound, -kMostNumber, kMostNumber);
    if (section.Has("at_least")) return AtLeast(bound);
    if (section.Has("at_most")) return AtMost(bound);
    const std::vector<double> within = Numbers(section, "within");
    const std::vector<double> size = Numbers(section, "size"), effect = Numbers(section, "effect");
    if (within[0] > within[1]) section.Fail("within", "the first number is the lower one");
    if (size[1] < 0 || effect[1] < 0)
      section.Fail(size[1] < 0 ? "size" : "effect", "half of the last digit is not below 0");
    if (section.Has("within")) return Within(within[0], within[1]);
    if (section.Has("size")) return Size(size[0], size[1]);
    return Effect(effect[0], effect[1], none);
  }

  void ReadClaim(TomlSection& section) {
    PaperClaim claim;
    std::string where, setting = "paper";
    section.Text("section", &where), section.Text("text", &claim.claim.text), section.Text("says", &claim.claim.paper);
    if (claim.claim.text.empty()) section.Fail("text", "is missing");
    if (claim.claim.paper.empty()) section.Fail("says", "is missing: what the paper says");
    if (!where.empty()) claim.claim.text = where + ": " + claim.claim.text;
    section.Text("setting", &setting);
    constexpr NamedValue<Setting> kSettings[] = {
        {"paper", Setting::kPaper}, {"reading", Setting::kReading}, {"ours", Setting::kOurs}};
    claim.claim.setting = OneOf(section, "setting", setting, kSettings);
    const FigureWords words = ReadFigureWords(section);
    claim.ours = Figure(section, words);
    claim.claim.how = ColumnOf("", words, claim.ours.as);
    const bool is_gain = !claim.ours.ours.empty() && claim.ours.ours.front().baseline && claim.ours.as == As::kValue;
    claim.claim.expected = ReadExpected(section, claim.ours.as == As::kRatio || is_gain ? 1 : 0);
    section.Finish();
    paper_.claims.push_back(std::move(claim));
  }

  const toml::table& table_;
  const std::string& file_name_;
  Status failure_;
  TomlSection root_;
  Paper paper_;
  std::vector<std::string> names_;  // of schedulers without settings of their own
  std::uint32_t draws_ = 1;
  std::string testbed_;
  std::vector<Changes> scheduler_changes_, point_changes_;
  std::vector<toml::table> own_settings_;  // by scheduler
  std::vector<std::string> classes_;
};

}  // namespace

namespace {

// A class's figures are found by its name.
Status CheckClasses(const std::vector<LiveClass>& classes) {
  for (auto at = classes.begin(); at != classes.end(); ++at) {
    const auto same = [&](const LiveClass& other) { return other.name == at->name; };
    if (std::any_of(classes.begin(), at, same))
      return Invalid(at->place + ".name: there are two classes of jobs with the name " + Quote(at->name));
  }
  return Status::Ok();
}

}  // namespace

Result<bool> IsPaper(std::string_view text, const std::string& file_name) {
  const Result<toml::table> table = ParseToml(text, file_name);
  if (table.ok()) return table->contains("paper");
  const bool meant = file_name.ends_with(".toml") || text.find("[paper]") != std::string_view::npos;
  return meant ? Result<bool>(table.status()) : Result<bool>(false);
}

Result<Paper> ParsePaper(std::string_view text, const std::string& file_name) {
  // Errors in the workload itself are reported with their line; the texts of the points have no lines.
  MILLRACE_ASSIGN(const SimulationFile whole, ParseSimulationAt(file_name, text, {}));
  MILLRACE_TRY(CheckClasses(whole.live.classes));
  MILLRACE_ASSIGN(const toml::table table, ParseToml(text, file_name));
  return Reader(table, file_name).Read();
}

Result<Paper> LoadPaper(const std::string& path) {
  MILLRACE_ASSIGN(const std::string text, ReadSimulation(path));
  return ParsePaper(text, path);
}

}  // namespace millrace::sim::experiments
