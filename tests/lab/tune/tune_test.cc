// SPDX-License-Identifier: Apache-2.0
// Tests the parts of `millrace tune`; test_tune.py tests the command itself.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/file.h"
#include "lab/report/judge.h"
#include "lab/run/make_runs.h"
#include "lab/run/sim_arena.h"
#include "lab/tune/knob.h"
#include "lab/tune/search.h"
#include "lab/tune/tuning.h"
#include "lab/tune/tuning_text.h"
#include "schedulers/offering/delay_settings.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::tune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;

// ---- knobs ----

TEST(KnobTest, ReadsRangesAndLists) {
  const Knob wait = ParseKnob("delay.rack_wait=100ms:2m").value();
  EXPECT_EQ(wait.type, OptionType::kDuration);
  EXPECT_EQ(wait.low, 0.1);
  EXPECT_EQ(wait.high, 120);
  const Knob weight = ParseKnob("pools.team.a.weight=0.5:8").value();  // the name of a pool may have dots
  EXPECT_EQ(weight.type, OptionType::kReal);
  EXPECT_THAT(ParseKnob("fresh.order=submit|johnson").value().values, ElementsAre("submit", "johnson"));
  EXPECT_THAT(ParseKnob("edf.exclusive=true|false").value().values, ElementsAre("true", "false"));
  EXPECT_THAT(ParseKnob("delay.rack_wait=0s|5s|30s").value().values, ElementsAre("0s", "5s", "30s"));
}

TEST(KnobTest, SaysWhatIsWrong) {
  const auto why = [](const std::string& text) {
    const Result<Knob> knob = ParseKnob(text);
    EXPECT_EQ(knob.status().code(), StatusCode::kInvalid) << text;
    return knob.ok() ? "" : knob.status().message();
  };
  EXPECT_THAT(why("delay.rack_wait"), HasSubstr("SECTION.KEY=LOW:HIGH"));
  EXPECT_THAT(why("delay.rack_wiat=0s:1s"), HasSubstr("did you mean delay.rack_wait?"));
  EXPECT_THAT(why("rack_wait=0s:1s"), HasSubstr("there is no setting"));
  EXPECT_THAT(why("=0:1"), HasSubstr("there is no setting"));
  EXPECT_THAT(why("delay.rack_wait=2s:1s"), HasSubstr("2s is not below 1s"));
  EXPECT_THAT(why("delay.rack_wait=1s:1s"), HasSubstr("not below"));
  EXPECT_THAT(why("delay.rack_wait=0s:1s:2s"), HasSubstr("LOW:HIGH"));
  EXPECT_THAT(why("delay.rack_wait=0s:2d"), HasSubstr("delay.rack_wait=0s:2d"));  // more than an hour
  EXPECT_THAT(why("karma.alpha=0:2"), HasSubstr("2"));
  EXPECT_THAT(why("fresh.order=submit|jonson"), HasSubstr("jonson"));
  EXPECT_THAT(why("fresh.order=a:b"), HasSubstr("A|B"));
  EXPECT_THAT(why("fresh.order=submit"), HasSubstr("nothing to try"));
  EXPECT_THAT(why("fresh.order="), HasSubstr("nothing to try"));
  EXPECT_THAT(why("karma.alpha=nan:1"), Not(IsEmpty()));
}

TEST(KnobTest, ValuesAreWithinTheRangeAndHaveTwoDigits) {
  Random random(7);
  const Knob wait = ParseKnob("delay.rack_wait=137ms:58300ms").value();
  std::vector<double> logs;
  for (int i = 0; i < 2'000; ++i) {
    const std::string text = DrawValue(wait, random);
    sched::Settings settings;
    ASSERT_TRUE(SetByKey(wait.key, text, &settings).ok()) << text;
    const double value = static_cast<double>(settings.Of<sched::DelaySettings>().rack_wait) / kMicrosPerSecond;
    ASSERT_THAT(value, AllOf(Ge(0.137), Le(58.3)));
    logs.push_back(std::log(value));
    if (value == 0.137 || value == 58.3) continue;
    const double digits = value / std::pow(10, std::floor(std::log10(value)) - 1);
    EXPECT_NEAR(digits, std::round(digits), 1e-6) << text;
  }
  // By equal factors: half of the values lie below the geometric mean of the ends.
  const auto below =
      std::ranges::count_if(logs, [](double value) { return value < std::log(std::sqrt(0.137 * 58.3)); });
  EXPECT_NEAR(static_cast<double>(below), 1'000, 150);
}

TEST(KnobTest, WholeNumbersAreWhole) {
  Random random(3);
  std::set<std::string> seen;
  const Knob k = ParseKnob("fresh.k=0:3").value();
  for (int i = 0; i < 200; ++i) seen.insert(DrawValue(k, random));
  EXPECT_THAT(seen, ElementsAre("0", "1", "2", "3"));
}

// What is searched by default must exist, under each name of the catalogue and with each part.
TEST(KnobTest, EveryPolicyHasKnobsThatItTakes) {
  Random random(1);
  std::size_t with_knobs = 0;
  for (const sched::PolicyInfo& policy : sched::ListPolicies()) {
    std::vector<std::string> names{policy.name};
    for (const std::string& part : policy.parts) names.push_back(policy.name + "+" + part);
    for (const std::string& name : names) {
      const std::vector<Knob> knobs = KnobsOf(name);
      with_knobs += knobs.empty() ? 0 : 1;
      for (const Knob& knob : knobs) {
        for (int i = 0; i < 50; ++i) {
          sched::Settings settings;
          EXPECT_TRUE(SetByKey(knob.key, DrawValue(knob, random), &settings).ok()) << knob.key;
        }
      }
    }
  }
  EXPECT_GT(with_knobs, 20u);
  EXPECT_THAT(KnobsOf("fifo"), IsEmpty());
  ASSERT_EQ(KnobsOf("fifo+delay").size(), 2u);
  EXPECT_EQ(KnobsOf("fifo+delay")[0].key, "delay.rack_wait");
}

// ---- fronts ----

TEST(FrontTest, HasThePointsThatNoneBeats) {
  // The second and the fourth are beaten by the first and by the third; the fifth is like the third.
  EXPECT_THAT(Front({{1, 5}, {1, 6}, {3, 3}, {4, 4}, {3, 3}, {5, 1}}), ElementsAre(0, 2, 5));
  EXPECT_THAT(Front({{2}, {1}, {3}}), ElementsAre(1));
  EXPECT_THAT(Front({{0, 0}, {0.001, -0.001}}), ElementsAre(0)) << "no difference that could be told";
  EXPECT_THAT(Front({{0, 0}, {0.01, -0.01}}), ElementsAre(0, 1));
  EXPECT_THAT(Front({}), IsEmpty());
}

TEST(FrontTest, OrdersFrontByFrontAndTheEndsFirst) {
  // The first front is 0 to 3, in which 1 has less room than 2; then 4.
  const std::vector<Losses> points{{0, 10}, {1, 8}, {6, 3}, {10, 0}, {6, 9}};
  const std::vector<std::size_t> order = BestFirst(points);
  EXPECT_THAT(std::set<std::size_t>(order.begin(), order.begin() + 2), ElementsAre(0, 3));
  EXPECT_THAT(std::vector<std::size_t>(order.begin() + 2, order.end()), ElementsAre(2, 1, 4));
  const std::vector<std::size_t> alike = BestFirst({{1, 1}, {1, 1}, {1, 1}});
  EXPECT_EQ(std::set<std::size_t>(alike.begin(), alike.end()).size(), 3u) << "each once";
}

// ---- tries ----

std::vector<Knob> Delays(const std::string& scheduler) {
  return scheduler == "fair+delay" ? std::vector<Knob>{ParseKnob("delay.rack_wait=1s:60s").value()}
                                   : std::vector<Knob>{};
}

TEST(TriesTest, BeginWithWhatIsInForceAndWithItsSettings) {
  sched::Variant in_force{"fair", "fair", "", {}};
  in_force.settings.Of<sched::DelaySettings>().datacenter_wait = 7 * kSecond;
  in_force.settings_text = sched::FormatSettings(in_force.settings);
  Random random(1);
  const std::vector<Try> tries = DrawTries(in_force, {"fifo", "fair", "fair+delay"}, Delays, 10, random);
  ASSERT_EQ(tries.size(), 10u);
  EXPECT_EQ(tries[0].variant.scheduler, "fair");
  EXPECT_EQ(tries[1].variant.scheduler, "fifo");
  EXPECT_EQ(tries[2].variant.label, "fair+delay");
  std::set<std::string> labels;
  for (const Try& one : tries) {
    labels.insert(one.variant.label);
    const sched::Settings read = sched::ParseSettings(one.variant.settings_text, "s").value();
    EXPECT_EQ(read.Of<sched::DelaySettings>().datacenter_wait, 7 * kSecond) << "what is in force stays";
    EXPECT_EQ(sched::FormatSettings(read), sched::FormatSettings(one.variant.settings));
  }
  EXPECT_EQ(labels.size(), 10u);
  EXPECT_THAT(tries[3].values, ElementsAre(HasSubstr("delay.rack_wait=")));
  EXPECT_EQ(DrawTries(in_force, {"fifo"}, Delays, 10, random).size(), 2u) << "nothing more to try";
}

TEST(TriesTest, ValuesThatContradictEachOtherAreDrawnAgain) {
  const auto knobs = [](const std::string&) {
    return std::vector<Knob>{ParseKnob("fair.min_share_timeout=1s:10m").value(),
                             ParseKnob("fair.fair_share_timeout=1s:10m").value()};
  };
  Random random(5);
  const std::vector<Try> tries = DrawTries({"fair", "fair", "", {}}, {"fair"}, knobs, 40, random);
  EXPECT_EQ(tries.size(), 40u);
  for (const Try& one : tries) {
    const auto& fair = one.variant.settings.Of<sched::FairSettings>();
    EXPECT_LE(fair.min_share_timeout, fair.fair_share_timeout);
  }
}

// ---- the search ----

// The first goal of try i is 100 + |i - best| percent of the try in force, the second one is the same for all; both
// have noise that is the same for all tries of a draw.
class Measures {
 public:
  explicit Measures(std::size_t best) : best_(best) {}

  Result<std::vector<Measured>> operator()(const std::vector<Wanted>& runs) {
    std::vector<Measured> measured;
    for (const Wanted& run : runs) {
      ++made_[{run.of, run.draw}];
      const double noise = 1 + run.draw;
      const double far = std::abs(static_cast<double>(run.of) - static_cast<double>(best_));
      measured.push_back(std::vector<double>{noise * (100 + far), noise});
      if (nothing.contains(run.of)) measured.back() = std::nullopt;
    }
    return measured;
  }

  std::set<std::size_t> nothing;
  [[nodiscard]] const std::map<std::pair<std::size_t, std::uint32_t>, int>& made() const { return made_; }

 private:
  std::size_t best_;
  std::map<std::pair<std::size_t, std::uint32_t>, int> made_;
};

TEST(SearchTest, FindsTheBestWithAFewRunsOfMost) {
  Measures measures(37);
  const Searched searched = Search(64, 2, std::ref(measures)).value();
  for (const auto& [run, times] : measures.made())
    EXPECT_EQ(times, 1) << "try " << run.first << ", draw " << run.second;
  EXPECT_EQ(searched.runs, measures.made().size());
  // 64 tries in 2 draws, 32 in 2 more, 16 in 4 more and 8 in 8 more, of which the one in force is not counted.
  EXPECT_LE(searched.runs, 64u * 2 + 32 * 2 + 16 * 4 + 9 * 8);
  EXPECT_EQ(searched.tries.size(), 64u);
  EXPECT_EQ(searched.tries[0].of, 0u);
  EXPECT_EQ(searched.tries[0].draws, 16u);
  const std::vector<std::size_t> finalists = Finalists(searched, 5);
  ASSERT_EQ(finalists.size(), 1u) << "the second goal is the same for all";
  EXPECT_EQ(searched.tries[finalists[0]].of, 37u);
  EXPECT_NEAR(searched.tries[finalists[0]].losses[0], std::log(100.0 / 137), 1e-9);
  EXPECT_EQ(searched.tries[finalists[0]].losses[1], 0);
}

TEST(SearchTest, NothingIsLeftWhereWhatIsInForceIsBest) {
  Measures measures(0);
  const Searched searched = Search(64, 2, std::ref(measures)).value();
  EXPECT_THAT(Finalists(searched, 5), IsEmpty());
}

TEST(SearchTest, TriesWhoseRunsSayNothingAreLeftOut) {
  Measures measures(5);
  measures.nothing = {5, 6};
  const Searched searched = Search(20, 2, std::ref(measures)).value();
  EXPECT_EQ(searched.tries.size(), 18u);
  EXPECT_EQ(searched.tries[Finalists(searched, 5).at(0)].of, 4u);
  measures.nothing = {0};
  EXPECT_EQ(Search(20, 2, std::ref(measures)).status().code(), StatusCode::kInvalid);
}

TEST(SearchTest, AGoalThatCanBeZeroIsComparedByDifferences) {
  const auto make = [](const std::vector<Wanted>& runs) -> Result<std::vector<Measured>> {
    std::vector<Measured> measured;
    for (const Wanted& run : runs) measured.push_back(std::vector<double>{run.of == 1 ? 0.0 : 0.25});
    return measured;
  };
  const Searched searched = Search(3, 1, make).value();
  EXPECT_EQ(searched.tries[1].losses[0], -0.25);
  EXPECT_THAT(searched.ratios, ElementsAre(false));
}

TEST(SearchTest, FailuresOfRunsAreReturned) {
  const auto make = [](const std::vector<Wanted>&) -> Result<std::vector<Measured>> { return Cancelled("no"); };
  EXPECT_EQ(Search(3, 1, make).status().code(), StatusCode::kCancelled);
}

// ---- the judgement ----

using sim::Verdict;

// Judged by two goals: the verdicts and means of each scheduler after the baseline.
struct Judged {
  Verdict turnaround, makespan;
  double mean = 1;  // of the turnaround
  double other = 1;
  std::optional<sim::Estimate> other_ratio = {};  // of the makespan
};

Tuning Of(const std::vector<Judged>& judged, sim::Unjudged unjudged = sim::Unjudged::kNo) {
  compare::Subject subject;
  subject.schedulers.push_back({"fifo", "fifo", "", {}});
  const std::vector<const compare::Metric*> goals{compare::FindMetric("turnaround"), compare::FindMetric("makespan")};
  std::vector<compare::JudgedMetric> metrics(2);
  for (std::size_t goal = 0; goal < 2; ++goal) {
    metrics[goal].metric = goals[goal], metrics[goal].headline = true;
    metrics[goal].runs.values = {{1, 1}};
    metrics[goal].comparison.schedulers.resize(1 + judged.size());
  }
  for (std::size_t i = 0; i < judged.size(); ++i) {
    subject.schedulers.push_back({"s" + std::to_string(i + 1), "fair", "", {}});
    metrics[0].runs.values.push_back({judged[i].mean, judged[i].mean});
    metrics[1].runs.values.push_back({judged[i].other, judged[i].other});
    metrics[0].comparison.schedulers[i + 1].verdict = judged[i].turnaround;
    metrics[1].comparison.schedulers[i + 1].verdict = judged[i].makespan;
    metrics[1].comparison.schedulers[i + 1].ratio = judged[i].other_ratio;
    metrics[1].comparison.schedulers[i + 1].unjudged = unjudged;
  }
  compare::Material material{.subject = &subject, .design = {}, .counting = {}, .judged = std::move(metrics)};
  material.design.schedulers = static_cast<std::uint32_t>(subject.schedulers.size());
  return TuningOf(material, goals);
}

TEST(TuningTest, ChoosesTheBestOfThoseThatAreWorseByNothing) {
  const Tuning tuning = Of({{Verdict::kBetter, Verdict::kWorse, 0.2},
                            {Verdict::kBetter, Verdict::kUndecided, 0.6},
                            {Verdict::kBetter, Verdict::kSame, 0.5},
                            {Verdict::kUndecided, Verdict::kBetter, 0.4}});
  EXPECT_EQ(tuning.kind, TuningKind::kChange);
  EXPECT_EQ(tuning.chosen, 3u);
  EXPECT_THAT(tuning.why,
              AllOf(HasSubstr("s3"), HasSubstr("mean turnaround"), HasSubstr("nothing says that it is worse")));
}

TEST(TuningTest, ALaterGoalDecidesWhereTheFirstDoesNot) {
  const Tuning tuning = Of({{Verdict::kSame, Verdict::kBetter, 1, 0.7}, {Verdict::kSame, Verdict::kBetter, 1, 0.6}});
  EXPECT_EQ(tuning.chosen, 2u);
  EXPECT_THAT(tuning.why, HasSubstr("by makespan"));
}

// An interval of 1.02 to 1.22 may be too little for a verdict, and is still no reason to change.
TEST(TuningTest, DoesNotChooseWhatMayWellBeWorse) {
  Judged doubtful{Verdict::kBetter, Verdict::kUndecided, 0.3};
  doubtful.other_ratio = {1.12, 1.02, 1.22};
  Judged open{Verdict::kBetter, Verdict::kUndecided, 0.6};
  open.other_ratio = {1.05, 0.95, 1.15};
  EXPECT_EQ(Of({doubtful, open}).chosen, 2u);
  EXPECT_EQ(Of({doubtful}).kind, TuningKind::kWeigh);
  doubtful.makespan = Verdict::kSame;  // a difference that does not matter
  EXPECT_EQ(Of({doubtful, open}).chosen, 1u);
}

TEST(TuningTest, LeavesTheWeighingToPeople) {
  const Tuning tuning = Of({{Verdict::kBetter, Verdict::kWorse}, {Verdict::kWorse, Verdict::kBetter}});
  EXPECT_EQ(tuning.kind, TuningKind::kWeigh);
  EXPECT_FALSE(tuning.chosen.has_value());
}

TEST(TuningTest, SaysThatNothingIsBetter) {
  EXPECT_EQ(Of({}).kind, TuningKind::kKeep);
  const Tuning tuning = Of({{Verdict::kUndecided, Verdict::kSame, 0.9}, {Verdict::kWorse, Verdict::kSame}});
  EXPECT_EQ(tuning.kind, TuningKind::kKeep);
  EXPECT_FALSE(tuning.chosen.has_value());
  EXPECT_THAT(tuning.why, HasSubstr("Nothing better was found"));
}

TEST(TuningTest, SaysWhereThereIsNoVerdict) {
  EXPECT_EQ(Of({{Verdict::kUndecided, Verdict::kUndecided}}, sim::Unjudged::kOtherJobs).kind, TuningKind::kNone);
}

// ---- parts of a history ----

compare::History HistoryOf(std::uint32_t jobs) {
  compare::History history;
  for (std::uint32_t i = 0; i < jobs; ++i) {
    sim::SimJob& job = history.file.workload.jobs.emplace_back();
    job.name = std::to_string(i), job.submit = (i + 1) * kSecond;
  }
  history.file.seed = 9;
  history.redrawn = true;
  history.draw = [file = history.file](std::uint64_t) -> Result<sim::SimulationFile> { return file; };
  return history;
}

TEST(PartsTest, TheSearchDoesNotSeeTheJobsThatJudge) {
  const compare::History history = HistoryOf(41);
  const Parts parts = PartsOf(history);
  EXPECT_EQ(parts.earlier, 20u);
  EXPECT_EQ(parts.later, 21u);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto jobs_of = [&](const compare::DrawSimulation& draw) { return draw(seed).value().workload.jobs; };
    for (const sim::SimJob& job : jobs_of(parts.searched)) EXPECT_LT(std::stoi(job.name), 20);
    for (const sim::SimJob& job : jobs_of(parts.judged)) EXPECT_GE(std::stoi(job.name), 20);
    EXPECT_EQ(jobs_of(parts.judged).size(), 21u);
  }
  const sim::Workload as_it_was = parts.judged(9).value().workload;  // the seed of the history gives its jobs
  ASSERT_EQ(as_it_was.jobs.size(), 21u);
  for (std::size_t i = 0; i < 21; ++i) {
    EXPECT_EQ(as_it_was.jobs[i].name, std::to_string(20 + i));
    EXPECT_EQ(as_it_was.jobs[i].submit, static_cast<Micros>(i) * kSecond);
  }
}

TEST(PartsTest, AShortHistoryIsNotDivided) {
  const Parts parts = PartsOf(HistoryOf(39));
  EXPECT_EQ(parts.earlier, 0u);
  EXPECT_EQ(parts.searched(1).value().workload.jobs.size(), 39u);
  compare::History drawn = HistoryOf(100);
  drawn.redrawn = false;
  EXPECT_EQ(PartsOf(drawn).later, 0u);
}

// ---- what is told ----

// Runs of fifo and fair in the simulator: short jobs behind long ones.
class Compared {
 public:
  Compared() {
    const std::string toml =
        "[cluster]\nnodes = 4\n[[jobs]]\nname = \"long\"\nuser = \"a\"\ncount = 10\nmaps = 30\nmap_time = 10\n"
        "arrival = { kind = \"interval\", every = 90 }\n[[jobs]]\nname = \"short\"\nuser = \"b\"\ncount = 10\nmaps = "
        "2\n"
        "map_time = { uniform = [2, 6] }\narrival = { kind = \"interval\", every = 90 }\n";
    const auto draw = [toml](std::uint64_t seed) {
      sim::Overrides overrides;
      overrides.seed = seed;
      return sim::ParseSimulation(toml, "w", overrides);
    };
    history_.file = draw(1).value(), history_.name = "w", history_.in_force = {"fifo", "fifo", "", {}};
    subject_.schedulers = {history_.in_force, {"fair", "fair", "", {}}};
    subject_.headline = {"turnaround"}, subject_.where = "sim";
    compare::SimArena arena = compare::SimArena::Make(draw, 1).value();
    subject_.nodes = arena.Nodes();
    told_.goals = {compare::FindMetric("turnaround")};
    compare::Design design;
    design.schedulers = 2, design.blocks = 8, design.same_against_same = false;
    EXPECT_EQ(compare::MakeRuns(arena, design, subject_.schedulers, store_, {}).value(), compare::Making::kComplete);
    material_ = {&subject_, design, store_.Counting(8), {}};
    material_.judged = compare::Judge(design, material_.counting, subject_.headline, {});
    told_.history = &history_, told_.material = &material_, told_.schedulers = 2;
    told_.tries = {{subject_.schedulers[0], {}}, {subject_.schedulers[1], {}}};
    told_.searched.tries = {{0, 16, {0}}, {1, 16, {-0.5}}};
    told_.searched.last = {0, 1}, told_.searched.ratios = {true}, told_.searched.runs = 32;
    told_.finalists = {1};
    told_.tuning = TuningOf(material_, told_.goals);
  }
  Told& told() { return told_; }

 private:
  compare::History history_;
  compare::Subject subject_;
  TempDir directory_ = TempDir::Make("tuned").value();
  compare::RunStore store_ =
      compare::RunStore::Open(directory_.path() + "/c", {}, {2, 0, 1, 1, false}, 1'000, false).value();
  compare::Material material_;
  Told told_;
};

TEST(TuningTextTest, SaysWhatLiveRunsSay) {
  Compared compared;
  Told& told = compared.told();
  ASSERT_EQ(told.tuning.chosen, 1u) << told.tuning.why;
  EXPECT_TRUE(TuningJson(told)["live"].is_null());
  told.live = LiveCheck{"local", told.material};
  EXPECT_THAT(TuningText(told), HasSubstr("On real daemons (local, 8 runs of each):\n"));
  EXPECT_THAT(TuningText(told), HasSubstr("By mean turnaround the simulator said better, and live runs say better.\n"));
  EXPECT_EQ(TuningJson(told)["live"]["where"], "local");
  EXPECT_EQ(TuningJson(told)["live"]["findings"]["schedulers"], (nlohmann::json{"fifo", "fair"}));
}

TEST(TuningTextTest, ASimulatorThatIsFurtherOffThanTheGainIsNotToBeBelieved) {
  Compared compared;
  compared.told().model = compare::ModelCheck{10, 100};
  EXPECT_THAT(TuningText(compared.told()), HasSubstr("an error larger than the gain"));
  compared.told().model = compare::ModelCheck{10, 10.1};
  EXPECT_THAT(TuningText(compared.told()), Not(HasSubstr("an error larger")));
  EXPECT_EQ(TuningJson(compared.told())["model"]["live"], 10);
}

TEST(TuningTextTest, WhatWasAppliedIsSaidInPlaceOfWhatToDo) {
  Compared compared;
  EXPECT_THAT(TuningText(compared.told()), HasSubstr("millrace scheduler set fair\n"));
  compared.told().applied = "Applied: fair.";
  EXPECT_THAT(TuningText(compared.told()), AllOf(HasSubstr("\nApplied: fair.\n"), Not(HasSubstr("scheduler set"))));
  EXPECT_EQ(TriesCsv(compared.told()),
            "scheduler,settings,draws,turnaround,finalist\nfifo,,16,1,no\nfair,,16,0.6065306597126334,yes\n");
}

}  // namespace
}  // namespace millrace::tune
