// SPDX-License-Identifier: Apache-2.0
#include "lab/tune/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::tune {
namespace {

constexpr int kMostRedraws = 100;

bool Beats(const Losses& one, const Losses& other) {
  bool better = false;
  for (std::size_t goal = 0; goal < one.size(); ++goal) {
    if (one[goal] > other[goal]) return false;
    better = better || one[goal] < other[goal];
  }
  return better;
}

bool Alike(const Losses& one, const Losses& other) {
  return std::equal(one.begin(), one.end(), other.begin(),
                    [](double a, double b) { return std::abs(a - b) <= kAlike; });
}

// Returns, of these points, those that none of them beats.
std::vector<std::size_t> FrontOf(const std::vector<Losses>& points, const std::vector<std::size_t>& among) {
  std::vector<std::size_t> different, front;
  for (const std::size_t at : among) {
    if (std::ranges::none_of(different, [&](std::size_t other) { return Alike(points[at], points[other]); }))
      different.push_back(at);
  }
  for (const std::size_t at : different) {
    if (std::ranges::none_of(different, [&](std::size_t other) { return Beats(points[other], points[at]); }))
      front.push_back(at);
  }
  return front;
}

// Sorts a front by the room to both sides of each point, the most first.
void SortByRoom(const std::vector<Losses>& points, std::vector<std::size_t>* front) {
  constexpr double kEnd = std::numeric_limits<double>::infinity();
  std::map<std::size_t, double> room;
  const std::size_t goals = points[front->front()].size();
  for (std::size_t goal = 0; goal < goals; ++goal) {
    std::vector<std::size_t> along = *front;
    std::ranges::stable_sort(along, {}, [&](std::size_t at) { return points[at][goal]; });
    const double width = points[along.back()][goal] - points[along.front()][goal];
    room[along.front()] = room[along.back()] = kEnd;
    for (std::size_t i = 1; i + 1 < along.size(); ++i) {
      if (width > 0) room[along[i]] += (points[along[i + 1]][goal] - points[along[i - 1]][goal]) / width;
    }
  }
  std::ranges::stable_sort(*front, [&](std::size_t a, std::size_t b) { return room[a] > room[b]; });
}

// The values of the tries, by try and draw.
class Table {
 public:
  Table(std::size_t tries, std::size_t goals) : values_(tries), goals_(goals) {}

  void Add(const Wanted& run, Measured measured) { values_[run.of].push_back(std::move(measured)); }

  // Returns the losses of a try against the first one; nothing if one of its runs says nothing.
  [[nodiscard]] std::optional<Losses> LossesOf(std::size_t of) const {
    Losses losses(goals_, 0.0);
    const std::size_t draws = values_[of].size();
    for (std::size_t draw = 0; draw < draws; ++draw) {
      if (!values_[of][draw] || !values_[0][draw]) return std::nullopt;
      for (std::size_t goal = 0; goal < goals_; ++goal)
        losses[goal] += Loss(goal, (*values_[of][draw])[goal], (*values_[0][draw])[goal]) / static_cast<double>(draws);
    }
    return losses;
  }
  // Once all runs of a round are known.
  void FindRatios() {
    ratios_.assign(goals_, true);
    for (const std::vector<Measured>& runs : values_) {
      for (const Measured& run : runs) {
        for (std::size_t goal = 0; run && goal < goals_; ++goal) ratios_[goal] = ratios_[goal] && (*run)[goal] > 0;
      }
    }
  }

  [[nodiscard]] const std::vector<bool>& ratios() const { return ratios_; }

 private:
  [[nodiscard]] double Loss(std::size_t goal, double its, double other) const {
    return ratios_[goal] ? std::log(its / other) : its - other;
  }

  std::vector<std::vector<Measured>> values_;
  std::size_t goals_;
  std::vector<bool> ratios_;
};

}  // namespace

std::vector<std::size_t> Front(const std::vector<Losses>& points) {
  std::vector<std::size_t> all(points.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return FrontOf(points, all);
}

std::vector<std::size_t> BestFirst(const std::vector<Losses>& points) {
  std::vector<std::size_t> rest(points.size()), order;
  std::iota(rest.begin(), rest.end(), std::size_t{0});
  while (!rest.empty()) {
    std::vector<std::size_t> front = FrontOf(points, rest);
    std::erase_if(rest, [&](std::size_t at) { return std::ranges::find(front, at) != front.end(); });
    SortByRoom(points, &front);
    order.insert(order.end(), front.begin(), front.end());
  }
  return order;
}

std::vector<Try> DrawTries(const sched::Variant& in_force, const std::vector<std::string>& schedulers,
                           const std::function<std::vector<Knob>(const std::string& scheduler)>& knobs,
                           std::size_t tries, Random& random) {
  std::vector<Try> drawn{{in_force, {}}};
  std::vector<std::string> searched;
  for (const std::string& scheduler : schedulers) {
    if (!knobs(scheduler).empty()) searched.push_back(scheduler);
    if (scheduler == in_force.scheduler) continue;
    drawn.push_back({{scheduler, scheduler, in_force.settings_text, in_force.settings}, {}});
  }
  std::map<std::string, int> numbers;
  for (std::size_t next = 0; !searched.empty() && drawn.size() < tries; ++next) {
    const std::string& scheduler = searched[next % searched.size()];
    Try one{{scheduler + "#" + std::to_string(++numbers[scheduler]), scheduler, {}, {}}, {}};
    bool fits = false;
    for (int again = 0; !fits && again < kMostRedraws; ++again) {
      one.values.clear(), one.variant.settings = in_force.settings;
      for (const Knob& knob : knobs(scheduler)) {
        const std::string value = DrawValue(knob, random);
        const Status set = SetByKey(knob.key, value, &one.variant.settings);
        MILLRACE_CHECK(set.ok(), set.message());
        one.values.push_back(knob.key + "=" + value);
      }
      one.variant.settings_text = sched::FormatSettings(one.variant.settings);
      fits = sched::ParseSettings(one.variant.settings_text, "the settings").ok();
    }
    if (fits) drawn.push_back(std::move(one));
    if (!fits) std::erase(searched, scheduler);
  }
  return drawn;
}

Result<Searched> Search(std::size_t tries, std::size_t goals, const MakeRuns& make) {
  MILLRACE_CHECK(tries > 0 && goals > 0, "nothing to search, or nothing to go by");
  Table table(tries, goals);
  std::vector<std::size_t> going(tries);
  std::iota(going.begin(), going.end(), std::size_t{0});
  std::map<std::size_t, Found> found;
  Searched searched;
  std::uint32_t made = 0;
  for (const std::uint32_t draws : kRounds) {
    std::vector<Wanted> wanted;
    for (std::uint32_t draw = made; draw < draws; ++draw) {
      for (const std::size_t of : going) wanted.push_back({of, draw});
    }
    MILLRACE_ASSIGN(std::vector<Measured> measured, make(wanted));
    for (std::size_t i = 0; i < wanted.size(); ++i) table.Add(wanted[i], std::move(measured[i]));
    table.FindRatios();
    searched.runs += wanted.size(), made = draws;
    if (!table.LossesOf(0))
      return Invalid(
          "under the scheduler in force some jobs do not end, or a goal has no value, so there is nothing to compare "
          "with");
    std::vector<Losses> points;
    std::vector<std::size_t> others;
    for (const std::size_t of : going) {
      const std::optional<Losses> losses = table.LossesOf(of);
      if (!losses) continue;
      found.insert_or_assign(of, Found{of, draws, *losses});
      if (of != 0) others.push_back(of), points.push_back(*losses);
    }
    going = {0};
    const std::size_t most = draws == std::end(kRounds)[-1] ? others.size() : std::max(kFewest, others.size() / 2);
    for (const std::size_t at : BestFirst(points)) {
      if (going.size() <= most) going.push_back(others[at]);
    }
    std::ranges::sort(going);
  }
  for (auto& [of, one] : found) {
    one.losses = table.LossesOf(of).value();  // in one unit, whenever it was dropped
    if (std::ranges::find(going, of) != going.end()) searched.last.push_back(searched.tries.size());
    searched.tries.push_back(std::move(one));
  }
  searched.ratios = table.ratios();
  return searched;
}

}  // namespace millrace::tune
