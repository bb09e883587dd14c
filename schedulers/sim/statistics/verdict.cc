#include "schedulers/sim/statistics/verdict.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace millrace::sim {
namespace {

using Runs = std::vector<double>;

// How one metric is judged: by logarithms, so that differences are ratios, if all its values allow it.
class Scale {
 public:
  Scale(const MetricRuns& metric, std::uint32_t baseline, double practical) {
    for (const Runs& runs : metric.values) logarithmic_ = logarithmic_ && AllPositive(runs);
    logarithmic_ = logarithmic_ && AllPositive(metric.second);
    const Runs& base = metric.values[baseline];
    practical_ = region_ = logarithmic_ ? std::log1p(practical) : practical * std::abs(Mean(base));
    if (metric.second.empty()) return;
    same_against_same_ = MeanByBootstrapT(Differences(metric.second, base));
    region_ = std::max({region_, std::abs(same_against_same_->low), std::abs(same_against_same_->high)});
  }

  [[nodiscard]] Runs Differences(const Runs& rival, const Runs& baseline) const {
    Runs differences;
    for (std::size_t i = 0; i < rival.size(); ++i) {
      differences.push_back(logarithmic_ ? std::log(rival[i] / baseline[i]) : rival[i] - baseline[i]);
    }
    return differences;
  }
  [[nodiscard]] bool logarithmic() const { return logarithmic_; }
  // How far from no difference what does not matter reaches, and how far what equal schedulers may show.
  [[nodiscard]] double practical() const { return practical_; }
  [[nodiscard]] double region() const { return region_; }

  [[nodiscard]] std::optional<Estimate> SameAgainstSame() const {
    if (!same_against_same_.has_value() || !logarithmic_) return same_against_same_;
    return AsRatio(*same_against_same_);
  }
  [[nodiscard]] static Estimate AsRatio(const Estimate& log) {
    return {std::exp(log.value), std::exp(log.low), std::exp(log.high)};
  }

 private:
  static bool AllPositive(const Runs& runs) {
    return std::all_of(runs.begin(), runs.end(), [](double value) { return value > 0; });
  }

  bool logarithmic_ = true;
  double practical_ = 0, region_ = 0;
  std::optional<Estimate> same_against_same_;  // on this scale
};

// What a comparison is judged by, on its metric's scale.
struct Judged {
  Estimate effect;
  double deviation = 0;
};

struct Rules {
  Better better = Better::kLower;
  double practical = 0, region = 0;
  double significance = 0;
  std::size_t adjusted_over = 1;  // comparisons that are read together
};

Verdict VerdictOf(const Comparison& comparison, const Judged& judged, const Rules& rules) {
  const Estimate& effect = judged.effect;
  if (-rules.practical <= effect.low && effect.high <= rules.practical) return Verdict::kSame;
  const bool above = effect.low > rules.region, below = effect.high < -rules.region;
  const bool by_chance =
      comparison.runs < kFewestForSignificance || comparison.p_adjusted.value_or(0) >= rules.significance;
  if ((!above && !below) || by_chance) return Verdict::kUndecided;
  return below == (rules.better == Better::kLower) ? Verdict::kBetter : Verdict::kWorse;
}

// Returns the pairs at which an interval of this deviation would no longer reach the region's nearest border, and at
// which p, adjusted, can be low enough.
std::optional<std::uint32_t> MoreRuns(const Comparison& comparison, const Judged& judged, const Rules& rules) {
  constexpr double kQuantile = 2;  // of t; 1.96 for many pairs
  const double to_border = std::abs(std::abs(judged.effect.value) - rules.region);
  if (to_border <= 0) return std::nullopt;
  const double by_width = std::ceil(std::pow(kQuantile * judged.deviation / to_border, 2));
  const double ways = 2 * static_cast<double>(rules.adjusted_over) / rules.significance;
  const double by_p = std::max(std::floor(std::log2(ways)) + 1, static_cast<double>(kFewestForSignificance));
  const double more = std::max(by_width, by_p) - comparison.runs;
  if (more > kMostMoreRuns) return std::nullopt;
  return static_cast<std::uint32_t>(std::max(more, 1.0));
}

Comparison CompareRuns(const Runs& rival, const Runs& baseline, const Scale& scale, Judged* judged) {
  MILLRACE_CHECK(rival.size() == baseline.size() && rival.size() >= 2, "runs that are not paired, or too few");
  Comparison comparison;
  comparison.runs = static_cast<std::uint32_t>(rival.size());
  Runs plain;
  for (std::size_t i = 0; i < rival.size(); ++i) plain.push_back(rival[i] - baseline[i]);
  comparison.shift = HodgesLehmannInterval(plain);
  comparison.difference = MeanByBootstrapT(plain);
  const Runs differences = scale.Differences(rival, baseline);
  *judged = {scale.logarithmic() ? MeanByBootstrapT(differences) : comparison.difference, Deviation(differences)};
  if (scale.logarithmic()) comparison.ratio = Scale::AsRatio(judged->effect);
  comparison.p = SignFlipP(differences);
  return comparison;
}

// Says whether `rival` is shown to beat `mine`, p not yet looked at.
bool IsAhead(const Runs& rival, const Runs& mine, const Scale& scale, Better better) {
  const double mean = Mean(scale.Differences(rival, mine));
  return better == Better::kLower ? mean < -scale.region() : mean > scale.region();
}

std::vector<std::uint32_t> WinnersOf(const MetricRuns& metric, const Scale& scale, double significance) {
  std::vector<std::uint32_t> winners;
  for (std::uint32_t mine = 0; mine < metric.values.size(); ++mine) {
    std::vector<double> p;
    std::vector<std::uint32_t> rivals;
    for (std::uint32_t rival = 0; rival < metric.values.size(); ++rival) {
      if (rival == mine) continue;
      rivals.push_back(rival);
      p.push_back(SignFlipP(scale.Differences(metric.values[rival], metric.values[mine])));
    }
    const std::vector<double> adjusted = HolmAdjusted(p);
    bool beaten = false;
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      beaten = beaten || (adjusted[i] < significance &&
                          IsAhead(metric.values[rivals[i]], metric.values[mine], scale, metric.better));
    }
    if (!beaten) winners.push_back(mine);
  }
  return winners;
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kSame:
      return "same";
    case Verdict::kUndecided:
      return "undecided";
  }
  return "undecided";
}

std::vector<MetricComparison> Compare(const std::vector<MetricRuns>& metrics, std::uint32_t baseline,
                                      const CompareOptions& options) {
  std::vector<MetricComparison> compared(metrics.size());
  std::vector<std::vector<Judged>> judged(metrics.size());
  std::vector<Scale> scales;
  std::vector<double> p;  // of the headline
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const MetricRuns& metric = metrics[m];
    MILLRACE_CHECK(baseline < metric.values.size(), "the baseline is none of the schedulers");
    const Scale& scale = scales.emplace_back(metric, baseline, options.practical);
    compared[m].same_against_same = scale.SameAgainstSame();
    compared[m].schedulers.resize(metric.values.size());
    judged[m].resize(metric.values.size());
    for (std::uint32_t s = 0; s < metric.values.size(); ++s) {
      if (s == baseline) continue;
      compared[m].schedulers[s] = CompareRuns(metric.values[s], metric.values[baseline], scale, &judged[m][s]);
      if (metric.headline) p.push_back(compared[m].schedulers[s].p);
    }
    compared[m].winners = WinnersOf(metric, scale, options.significance);
  }
  const std::vector<double> adjusted = HolmAdjusted(p);
  std::size_t next = 0;
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const Rules rules{metrics[m].better, scales[m].practical(), scales[m].region(), options.significance,
                      metrics[m].headline ? adjusted.size() : 1};
    for (std::uint32_t s = 0; s < compared[m].schedulers.size(); ++s) {
      if (s == baseline) continue;
      Comparison& comparison = compared[m].schedulers[s];
      if (metrics[m].headline) comparison.p_adjusted = adjusted[next++];
      comparison.verdict = VerdictOf(comparison, judged[m][s], rules);
      if (comparison.verdict == Verdict::kUndecided) comparison.more_runs = MoreRuns(comparison, judged[m][s], rules);
    }
  }
  return compared;
}

}  // namespace millrace::sim
