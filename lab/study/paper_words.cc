// SPDX-License-Identifier: Apache-2.0
#include "lab/study/paper_words.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "lab/study/figures.h"
#include "lab/study/paper_text.h"

namespace millrace::sim::experiments {
namespace {

constexpr int kMostDecimals = 9;
constexpr std::size_t kMostCases = 10'000;

OperandWords OrWords(OperandWords first, const OperandWords& second) {
  const auto or_else = [](auto* one, const auto& other) {
    if (!*one) *one = other;
  };
  or_else(&first.metric, second.metric), or_else(&first.baseline, second.baseline);
  or_else(&first.pick, second.pick), or_else(&first.across, second.across);
  const auto or_list = [](std::vector<std::string>* one, const std::vector<std::string>& other) {
    if (one->empty()) *one = other;
  };
  or_list(&first.classes, second.classes), or_list(&first.sweeps, second.sweeps);
  or_list(&first.points, second.points), or_list(&first.of, second.of);
  return first;
}

// Reads one text or number, or a list of some.
std::vector<std::string> Words(TomlSection& section, std::string_view key) {
  std::vector<std::string> words;
  const toml::node* node = section.Node(key);
  if (node == nullptr) return words;
  const toml::array* list = node->as_array();
  for (std::size_t i = 0; i < (list != nullptr ? list->size() : 1); ++i) {
    const std::optional<std::string> word = WordOf(list != nullptr ? *list->get(i) : *node);
    if (!word) {
      section.Fail(key, list != nullptr ? "not a list of texts and numbers" : "not a text or a number");
      return {};
    }
    words.push_back(*word);
  }
  if (words.empty()) section.Fail(key, "the list is empty");
  return words;
}

void ReadText(TomlSection& section, std::string_view key, std::optional<std::string>* field) {
  if (!section.Has(key)) return;
  field->emplace();
  section.Text(key, &**field);
}

OperandWords ReadOperand(TomlSection& section) {
  OperandWords words;
  ReadText(section, "metric", &words.metric), ReadText(section, "baseline", &words.baseline);
  ReadText(section, "pick", &words.pick), ReadText(section, "across", &words.across);
  words.classes = Words(section, "class"), words.sweeps = Words(section, "sweep");
  words.points = Words(section, "point");
  section.Texts("of", &words.of);
  return words;
}

void ReadEach(TomlSection& section, FigureWords* words) {
  const std::optional<TomlSection> each = section.Table("each");
  if (!each) return;
  TomlSection read = *each;
  if (read.Has("of")) read.Texts("of", &words->each_of);
  const toml::node* node = read.Node("class");
  const toml::array* list = node != nullptr ? node->as_array() : nullptr;
  if (node != nullptr && (list == nullptr || list->empty()))
    read.Fail("class", "not a list of classes, some of which may be lists of classes");
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    std::vector<std::string>& together = words->each_class.emplace_back();
    const toml::array* inner = list->get(i)->as_array();
    for (std::size_t k = 0; k < (inner != nullptr ? inner->size() : 1); ++k) {
      const std::optional<std::string> word = WordOf(inner != nullptr ? *inner->get(k) : *list->get(i));
      if (!word) return read.Fail("class", "not a list of classes, some of which may be lists of classes");
      together.push_back(*word);
    }
    if (together.empty()) read.Fail("class", "a list of no class");
  }
  if (words->each_of.empty() && words->each_class.empty()) read.Fail("", "gives neither `of` nor `class`");
  read.Finish();
}

// Reads the paper's figures of several schedulers: one list, or one for each case.
void ReadPrinted(TomlSection& section, FigureWords* words) {
  const toml::node* node = section.Node("printed");
  if (node == nullptr) return;
  const toml::array* all = node->as_array();
  const bool nested = all != nullptr && !all->empty() && all->get(0)->is_array();
  bool ok = all != nullptr && !all->empty();
  for (std::size_t i = 0; ok && i < (nested ? all->size() : 1); ++i) {
    const toml::array* numbers = nested ? all->get(i)->as_array() : all;
    ok = numbers != nullptr;
    std::vector<double>& list = words->printed.emplace_back();
    for (std::size_t k = 0; ok && k < numbers->size(); ++k) {
      ok = numbers->get(k)->is_number() && IsInRange(*numbers->get(k)->value<double>());
      if (ok) list.push_back(*numbers->get(k)->value<double>());
    }
  }
  if (!ok) section.Fail("printed", "not a list of numbers from -1e12 to 1e12, or one such list for each case");
}

// A key of the section that the message can name: all of `against` are told of there.
std::string_view KeyOf(const TomlSection& section, std::string_view key, bool theirs) {
  const std::string_view at = theirs ? "against" : key;
  return section.Has(at) ? at : "";
}

// One setting in which a figure is computed.
struct Case {
  std::vector<std::string> classes, of;  // empty: as the words say
  std::vector<std::uint32_t> points;     // one; several if the figure is across them
};

class Resolver {
 public:
  Resolver(const Paper& paper, const std::vector<std::string>& classes, TomlSection& section)
      : paper_(paper), classes_(classes), section_(section), labels_(sched::LabelsOf(paper.schedulers)) {}

  Reckoning Of(const FigureWords& words) {
    Reckoning reckoning{.place = section_.Where()};
    ReadWays(words, &reckoning);
    if (!section_.ok()) return reckoning;
    const bool together = words.ours.across || reckoning.as == As::kLeastRise;
    const std::vector<std::vector<std::uint32_t>> places = PlacesOf(words.ours, together, reckoning.as);
    const std::vector<std::vector<std::uint32_t>> theirs = TheirPlaces(words, places, reckoning.as);
    if (!section_.ok()) return reckoning;
    std::vector<std::vector<std::string>> classes = words.each_class;
    if (classes.empty()) classes.emplace_back();
    std::vector<std::vector<std::string>> of(std::max<std::size_t>(words.each_of.size(), 1));
    for (std::size_t i = 0; i < words.each_of.size(); ++i) of[i] = {words.each_of[i]};
    if (classes.size() * of.size() * places.size() > kMostCases) {
      section_.Fail("each", "makes more than " + std::to_string(kMostCases) + " cases of one figure");
      return reckoning;
    }
    for (const auto& one_class : classes) {
      for (const auto& one_of : of) {
        for (std::size_t p = 0; p < places.size() && section_.ok(); ++p) {
          reckoning.ours.push_back(Resolve(words.ours, {one_class, one_of, places[p]}, false));
          if (words.against)
            reckoning.theirs.push_back(
                Resolve(OrWords(words.theirs, words.ours), {one_class, one_of, theirs[p]}, true));
          if (words.rank) reckoning.ranked_by.push_back(RankedBy(words, {one_class, one_of, places[p]}));
        }
      }
    }
    if (section_.ok()) Check(words, &reckoning);
    return reckoning;
  }

 private:
  void ReadWays(const FigureWords& words, Reckoning* reckoning) {
    constexpr NamedValue<As> kAs[] = {{"value", As::kValue},    {"ratio", As::kRatio}, {"less", As::kLess},
                                      {"more", As::kMore},      {"apart", As::kApart}, {"difference", As::kDifference},
                                      {"no more", As::kNoMore}, {"order", As::kOrder}, {"least rise", As::kLeastRise}};
    constexpr NamedValue<Over> kOver[] = {{"mean", Over::kMean},
                                          {"least", Over::kLeast},
                                          {"most", Over::kMost},
                                          {"above 0", Over::kAbove0},
                                          {"not below 0", Over::kNotBelow0}};
    reckoning->as = OneOf(section_, "as", words.as.value_or("value"), kAs);
    reckoning->over = OneOf(section_, "over", words.over.value_or("mean"), kOver);
    reckoning->rank = words.rank, reckoning->printed = words.printed;
  }

  Over PickOf(std::string_view key, const std::optional<std::string>& word) {
    constexpr NamedValue<Over> kPicks[] = {{"least", Over::kLeast}, {"most", Over::kMost}, {"mean", Over::kMean}};
    return OneOf(section_, section_.Has(key) ? key : "", word.value_or("least"), kPicks);
  }

  // Returns the points of this sweep that the words name, in their order: some, or all.
  std::vector<std::uint32_t> PointsOf(const std::string& sweep, const std::vector<std::string>& words, bool theirs) {
    std::vector<std::uint32_t> points;
    std::set<std::string> sweeps;
    std::vector<std::string> labels;
    for (std::uint32_t p = 0; p < paper_.points.size(); ++p) {
      sweeps.insert(paper_.points[p].sweep);
      if (paper_.points[p].sweep != sweep) continue;
      labels.push_back(paper_.points[p].label);
      if (words.empty()) points.push_back(p);
    }
    if (labels.empty()) {
      Unknown(section_, KeyOf(section_, "sweep", theirs), "sweep", sweep, {sweeps.begin(), sweeps.end()});
      return {};
    }
    for (const std::string& word : words) {
      for (std::uint32_t p = 0; p < paper_.points.size(); ++p) {
        if (paper_.points[p].sweep == sweep && paper_.points[p].label == word) points.push_back(p);
      }
      if (std::find(labels.begin(), labels.end(), word) == labels.end())
        Unknown(section_, KeyOf(section_, "point", theirs), "point", word, labels);
    }
    return points;
  }

  // Returns the points of each case: one each, or together those of all sweeps, or, of a rise, those of each sweep.
  std::vector<std::vector<std::uint32_t>> PlacesOf(const OperandWords& words, bool together, As as) {
    std::vector<std::vector<std::uint32_t>> places;
    std::vector<std::string> sweeps = words.sweeps;
    if (sweeps.empty()) sweeps.push_back(paper_.points.front().sweep);
    for (const std::string& sweep : sweeps) {
      const std::vector<std::uint32_t> points = PointsOf(sweep, words.points, false);
      if (!together) {
        for (const std::uint32_t point : points) places.push_back({point});
      } else if (as == As::kLeastRise || places.empty()) {
        places.push_back(points);
      } else {
        places.front().insert(places.front().end(), points.begin(), points.end());
      }
    }
    return places;
  }

  // Returns the points of the other side of each case: those of `against`, which are of the case's sweep unless it
  // names one, or the same as ours.
  std::vector<std::vector<std::uint32_t>> TheirPlaces(const FigureWords& words,
                                                      const std::vector<std::vector<std::uint32_t>>& ours, As as) {
    const OperandWords& own = words.theirs;
    if (!words.against || (own.sweeps.empty() && own.points.empty() && !own.across)) return ours;
    std::vector<std::vector<std::uint32_t>> places;
    if (!own.sweeps.empty()) {
      const OperandWords all = OrWords(own, words.ours);
      places = PlacesOf(all, all.across.has_value(), as);
    } else {
      const std::vector<std::string>& named = own.points.empty() && !own.across ? words.ours.points : own.points;
      for (const std::vector<std::uint32_t>& place : ours) {
        std::vector<std::uint32_t> points = PointsOf(paper_.points[place.front()].sweep, named, true);
        if (points.size() == 1 || own.across || words.ours.across) places.push_back(std::move(points));
      }
    }
    if (places.size() != ours.size() && section_.ok())
      section_.Fail("against", "has other points than what it is compared with");
    return places;
  }

  Operand Resolve(const OperandWords& words, const Case& at, bool theirs) {
    if (!section_.ok()) return {};
    const auto key = [&](std::string_view of) { return KeyOf(section_, of, theirs); };
    const std::vector<std::string>& schedulers = words.of.empty() ? at.of : words.of;
    if (!words.metric) section_.Fail("", "`metric` is missing");
    if (schedulers.empty() && paper_.schedulers.size() > 1) section_.Fail("", "`of` is missing: the scheduler");
    if (!section_.ok()) return {};
    Operand operand{.metric = FindFigure(*words.metric),
                    .classes = words.classes.empty() ? at.classes : words.classes,
                    .points = at.points};
    operand.pick = PickOf("pick", words.pick), operand.across = PickOf("across", words.across);
    for (const std::string& of : schedulers) operand.schedulers.push_back(SchedulerOf(key("of"), of));
    if (schedulers.empty()) operand.schedulers.push_back(0);
    if (operand.metric == nullptr) {
      Unknown(section_, key("metric"), "metric", *words.metric, FigureKeys());
      return {};
    }
    CheckClasses(*words.metric, operand, key("class"));
    const bool relative = IsOfBaseline(*operand.metric);
    if (relative && !words.baseline)
      section_.Fail(key("metric"),
                    *words.metric + " wants `baseline`: the scheduler under which the jobs are compared");
    if (relative && paper_.where != Where::kSimulated)
      section_.Fail(key("metric"), *words.metric + " is only of papers that are simulated");
    if (relative && words.baseline) operand.baseline = SchedulerOf(key("baseline"), *words.baseline);
    return operand;
  }

  std::uint32_t SchedulerOf(std::string_view key, const std::string& name) {
    const auto at = std::find(labels_.begin(), labels_.end(), name);
    if (at != labels_.end()) return static_cast<std::uint32_t>(at - labels_.begin());
    Unknown(section_, key, "scheduler", name, labels_);
    return 0;
  }

  void CheckClasses(const std::string& metric, const Operand& operand, std::string_view key) {
    if (!operand.classes.empty() && !IsOfJobs(*operand.metric))
      section_.Fail(key, metric + " is of the cluster; it cannot be told of one class");
    for (const std::string& name : operand.classes) {
      if (std::find(classes_.begin(), classes_.end(), name) == classes_.end())
        Unknown(section_, key, "class of jobs", name, classes_);
    }
  }

  // What puts the draws in order, at the same points.
  Operand RankedBy(const FigureWords& words, const Case& at) {
    if (!words.ranked_by.metric && section_.ok())
      section_.Fail("rank", "`ranked_by` is missing: what orders the draws");
    OperandWords by = words.ranked_by;
    by.pick = by.across = std::nullopt;
    return Resolve(by, {{}, {}, at.points}, false);
  }

  void Check(const FigureWords& words, Reckoning* reckoning) {
    const As as = reckoning->as;
    const bool alone = as == As::kValue || as == As::kOrder || as == As::kLeastRise;
    if (words.against == alone)
      section_.Fail("against", words.against ? "a value is not against anything; say `as`, such as ratio"
                                             : "is missing: what it is compared with");
    const bool listed = !words.each_of.empty() || !words.each_class.empty() || !words.ours.points.empty();
    if (reckoning->ours.size() > 1 && !words.over)
      section_.Fail(listed ? "over" : "point",
                    listed ? "is missing: how several figures become one, such as mean"
                           : "is missing; a figure over all points of a sweep says `over`, such as mean");
    if ((as == As::kOrder) != !reckoning->printed.empty())
      section_.Fail(section_.Has("printed") ? "printed" : "", "`as = \"order\"` and `printed` go together");
    for (std::vector<double>& list : reckoning->printed) {
      if (list.size() != reckoning->ours.front().schedulers.size() || list.size() < 2)
        section_.Fail("printed", "not as many numbers as schedulers in `of`, of which there are two or more");
    }
    if (reckoning->printed.size() > 1 && reckoning->printed.size() != reckoning->ours.size())
      section_.Fail("printed", "not as many lists as cases");
    if (as == As::kLeastRise && reckoning->ours.front().points.size() < 2)
      section_.Fail("", "a rise is from a point to the next, and there is one");
    if (reckoning->ranked_by.empty() && words.rank) section_.Fail("rank", "`ranked_by` is missing");
    CheckDraws(*reckoning);
    if (section_.ok()) reckoning->scale = ScaleOf(*reckoning->ours.front().metric, words);
  }

  // Figures of several points, and both sides of a comparison, are of the same seeds only if all points have as many
  // draws.
  void CheckDraws(const Reckoning& reckoning) {
    const auto draws_of = [&](const Operand& operand) { return paper_.points[operand.points.front()].draws; };
    for (const std::vector<Operand>* side : {&reckoning.ours, &reckoning.theirs}) {
      for (const Operand& operand : *side) {
        for (const std::uint32_t point : operand.points) {
          if (paper_.points[point].draws != draws_of(operand))
            section_.Fail("", "is of points with different numbers of `draws`");
        }
      }
    }
    for (std::size_t i = 0; section_.ok() && i < reckoning.theirs.size(); ++i) {
      const std::uint32_t ours = draws_of(reckoning.ours[i]), theirs = draws_of(reckoning.theirs[i]);
      if (ours != theirs)
        section_.Fail(KeyOf(section_, "against", true),
                      "is of " + std::to_string(theirs) + " draws, and what it is compared with of " +
                          std::to_string(ours) + "; give both sweeps the same `draws`");
    }
  }

  double ScaleOf(const compare::Metric& metric, const FigureWords& words) {
    struct Unit {
      std::string_view name, of;
      double scale;
    };
    constexpr Unit kUnits[] = {{"s", "s", 1},         {"minutes", "s", 1.0 / 60}, {"GB", "bytes", 1e-9},
                               {"MB", "bytes", 1e-6}, {"%", "share", 100},        {"share", "share", 1}};
    const auto fits = [&](const Unit& unit) {
      return unit.of == metric.unit &&
             (!words.unit ? metric.unit != "share" || unit.scale != 1 : unit.name == *words.unit);
    };
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits), fits);
    if (unit != std::end(kUnits)) return unit->scale;
    if (words.unit)
      section_.Fail(section_.Has("unit") ? "unit" : "",
                    Quote(*words.unit) + " is not a unit of " + std::string(metric.key));
    return 1;
  }

  const Paper& paper_;
  const std::vector<std::string>& classes_;
  TomlSection& section_;
  std::vector<std::string> labels_;
};

}  // namespace

FigureWords Or(FigureWords first, const FigureWords& second) {
  first.ours = OrWords(std::move(first.ours), second.ours),
  first.theirs = OrWords(std::move(first.theirs), second.theirs);
  first.ranked_by = OrWords(std::move(first.ranked_by), second.ranked_by);
  first.against = first.against || second.against;
  const auto or_else = [](auto* one, const auto& other) {
    if (!*one) *one = other;
  };
  or_else(&first.as, second.as), or_else(&first.over, second.over), or_else(&first.unit, second.unit);
  or_else(&first.decimals, second.decimals), or_else(&first.rank, second.rank);
  if (first.each_class.empty()) first.each_class = second.each_class;
  if (first.each_of.empty()) first.each_of = second.each_of;
  if (first.printed.empty()) first.printed = second.printed;
  return first;
}

FigureWords ReadFigureWords(TomlSection& section) {
  FigureWords words;
  words.ours = ReadOperand(section);
  if (std::optional<TomlSection> against = section.Table("against")) {
    words.against = true;
    words.theirs = ReadOperand(*against);
    against->Finish();
  }
  if (std::optional<TomlSection> by = section.Table("ranked_by")) {
    words.ranked_by = ReadOperand(*by);
    by->Finish();
  }
  ReadText(section, "as", &words.as), ReadText(section, "over", &words.over), ReadText(section, "unit", &words.unit);
  if (section.Has("decimals")) section.Integer("decimals", &words.decimals.emplace(), 0, kMostDecimals);
  if (section.Has("rank")) section.Real("rank", &words.rank.emplace(), 0, 1);
  ReadEach(section, &words);
  ReadPrinted(section, &words);
  return words;
}

Reckoning Reckon(const Paper& paper, const std::vector<std::string>& classes, TomlSection& section,
                 const FigureWords& words) {
  return Resolver(paper, classes, section).Of(words);
}

Column ColumnOf(const std::string& name, const FigureWords& words, As as) {
  const auto decimals = [&](int usual) { return static_cast<int>(words.decimals.value_or(usual)); };
  // How many cases there are in which something holds is no ratio.
  const bool counted = words.over == "above 0" || words.over == "not below 0";
  if (as == As::kRatio && !counted) return Ratio(name, decimals(2));
  if (as == As::kLess && !counted) return Less(name, decimals(0));
  if (as == As::kMore && !counted) return More(name, decimals(0));
  if (as == As::kNoMore) return Measured(name, decimals(0));
  return Measured(name, decimals(as == As::kOrder ? 2 : 1));
}

}  // namespace millrace::sim::experiments
