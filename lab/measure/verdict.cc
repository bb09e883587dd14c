// SPDX-License-Identifier: Apache-2.0
#include "lab/measure/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace millrace::sim {
namespace {

using Runs = std::vector<double>;

constexpr double kQuantile = 2;  // of t; 1.96 for many pairs

// The scale on which one metric is judged: by logarithms, so that differences are ratios, if all its values allow it.
class Scale {
 public:
  Scale(const MetricRuns& metric, std::uint32_t baseline, double practical) {
    for (const Runs& runs : metric.values) logarithmic_ = logarithmic_ && AllPositive(runs);
    logarithmic_ = logarithmic_ && AllPositive(metric.second);
    const Runs& base = metric.values[baseline];
    practical_ = region_ =
        logarithmic_ ? std::log1p(practical) : std::max(practical * std::abs(Mean(base)), metric.least);
    if (metric.second.empty()) return;
    const Runs differences = Differences(metric.second, base);
    same_against_same_ = MeanByBootstrapT(differences);
    same_deviation_ = Deviation(differences);
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
  // The half-widths of two regions around no difference: the differences that do not matter, and those that equal
  // schedulers may show.
  [[nodiscard]] double practical() const { return practical_; }
  [[nodiscard]] double region() const { return region_; }
  // The approximate half-width of the latter region with this number of pairs.
  [[nodiscard]] double RegionAfter(double pairs) const {
    if (!same_against_same_.has_value()) return region_;
    return std::max(practical_, std::abs(same_against_same_->value) + kQuantile * same_deviation_ / std::sqrt(pairs));
  }

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
  double practical_ = 0, region_ = 0, same_deviation_ = 0;
  std::optional<Estimate> same_against_same_;  // on this scale
};

// The pairs of schedulers: each once, the first below the second.
class Pairs {
 public:
  explicit Pairs(std::size_t schedulers) : schedulers_(schedulers) {}
  [[nodiscard]] std::size_t size() const { return schedulers_ * (schedulers_ - 1) / 2; }
  [[nodiscard]] std::size_t IndexOf(std::size_t a, std::size_t b) const {
    const auto [low, high] = std::minmax(a, b);
    return high * (high - 1) / 2 + low;
  }

 private:
  std::size_t schedulers_;
};

// All metrics, and the pairs of schedulers of which one is ahead by each.
class Judgement {
 public:
  Judgement(const std::vector<MetricRuns>& metrics, std::uint32_t baseline, const CompareOptions& options)
      : metrics_(metrics), options_(options), pairs_(metrics.front().values.size()) {
    for (const MetricRuns& metric : metrics) {
      MILLRACE_CHECK(metric.values.size() == schedulers(), "metrics of different schedulers");
      for (const Runs& runs : metric.values)
        MILLRACE_CHECK(runs.size() == this->runs() && runs.size() >= 2, "runs that are not paired, or too few");
      scales_.emplace_back(metric, baseline, options.practical);
    }
    p_.assign(metrics.size(), Runs(pairs_.size(), 1.0));
    for (const bool headline : {true, false}) AdjustFamily(headline);
  }

  [[nodiscard]] std::uint32_t schedulers() const { return static_cast<std::uint32_t>(metrics_.front().values.size()); }
  [[nodiscard]] std::uint32_t runs() const {
    return static_cast<std::uint32_t>(metrics_.front().values.front().size());
  }
  [[nodiscard]] const Scale& scale(std::size_t metric) const { return scales_[metric]; }
  [[nodiscard]] double AdjustedP(std::size_t metric, std::uint32_t a, std::uint32_t b) const {
    return p_[metric][pairs_.IndexOf(a, b)];
  }
  // Returns why the two cannot be told apart by the metric, if so.
  [[nodiscard]] Unjudged WhyNot(std::size_t m, std::uint32_t a, std::uint32_t b) const {
    const MetricRuns& metric = metrics_[m];
    if (IsFixed(m, a) && IsFixed(m, b) && metric.values[a] != metric.values[b]) return Unjudged::kOneObservation;
    if (metric.by_itself && !metric.headline) return Unjudged::kByItself;
    if (metric.of_ended && !options_.ended.empty() && options_.ended[a] != options_.ended[b])
      return Unjudged::kOtherJobs;
    return Unjudged::kNo;
  }
  // Says whether `one` is ahead of `other`; `effect` is of one against other.
  [[nodiscard]] bool IsAhead(std::size_t metric, std::uint32_t one, std::uint32_t other, const Estimate& effect) const {
    if (!MayBeAhead(metric, one, other)) return false;
    const double region = scales_[metric].region();
    return metrics_[metric].better == Better::kLower ? effect.high < -region : effect.low > region;
  }
  [[nodiscard]] std::vector<std::uint32_t> Winners(std::size_t metric) const {
    std::vector<std::uint32_t> winners;
    for (std::uint32_t mine = 0; mine < schedulers(); ++mine) {
      bool beaten = false;
      for (std::uint32_t rival = 0; rival < schedulers() && !beaten; ++rival) {
        // An interval takes time, and few are asked for one.
        beaten = rival != mine && MayBeAhead(metric, rival, mine) &&
                 IsAhead(metric, rival, mine, MeanByBootstrapT(DifferencesOf(metric, rival, mine)));
      }
      if (!beaten) winners.push_back(mine);
    }
    return winners;
  }
  [[nodiscard]] Runs DifferencesOf(std::size_t metric, std::uint32_t one, std::uint32_t other) const {
    return scales_[metric].Differences(metrics_[metric].values[one], metrics_[metric].values[other]);
  }
  // Returns the factor for the p of a metric that is judged jointly with others.
  [[nodiscard]] double Multiple(bool headline) const {
    const bool both =
        std::ranges::any_of(metrics_, &MetricRuns::headline) && !std::ranges::all_of(metrics_, &MetricRuns::headline);
    const double share = !both ? 1 : headline ? kHeadlineShare : 1 - kHeadlineShare;
    return static_cast<double>(pairs_.size()) / share;
  }

 private:
  [[nodiscard]] bool IsFixed(std::size_t m, std::uint32_t scheduler) const {
    const Runs& runs = metrics_[m].values[scheduler];
    return !options_.fixed.empty() && options_.fixed[scheduler] &&
           std::ranges::all_of(runs, [&](double value) { return value == runs.front(); });
  }
  [[nodiscard]] bool MayBeAhead(std::size_t metric, std::uint32_t one, std::uint32_t other) const {
    return runs() >= kFewestForSignificance && WhyNot(metric, one, other) == Unjudged::kNo &&
           AdjustedP(metric, one, other) < options_.significance;
  }
  void AdjustFamily(bool headline) {
    std::vector<std::size_t> family;
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      if (metrics_[m].headline == headline && (headline || !metrics_[m].by_itself)) family.push_back(m);
    }
    if (family.empty()) return;
    for (std::uint32_t b = 1; b < schedulers(); ++b) {
      for (std::uint32_t a = 0; a < b; ++a) {
        std::vector<Runs> differences;
        for (const std::size_t m : family) differences.push_back(DifferencesOf(m, b, a));
        const std::vector<double> p = JointSignFlipP(differences);
        for (std::size_t i = 0; i < family.size(); ++i)
          p_[family[i]][pairs_.IndexOf(a, b)] = std::min(p[i] * Multiple(headline), 1.0);
      }
    }
  }

  const std::vector<MetricRuns>& metrics_;
  const CompareOptions& options_;
  const Pairs pairs_;
  std::vector<Scale> scales_;           // by metric
  std::vector<std::vector<double>> p_;  // adjusted, by metric and pair of schedulers
};

// Returns the pairs that are lacking until an interval of this deviation lies beyond the region, or within the
// practical one, and p can be low enough.
std::optional<std::uint32_t> MoreRuns(double mean, double deviation, const Scale& scale, double multiple,
                                      std::uint32_t runs, double significance) {
  for (std::uint32_t more = 1; more <= kMostMoreRuns; ++more) {
    const double pairs = runs + more;
    const double reach = kQuantile * deviation / std::sqrt(pairs);
    const bool tells = runs + more >= kFewestForSignificance && LeastSignFlipP(runs + more) * multiple < significance;
    if ((tells && std::abs(mean) - reach > scale.RegionAfter(pairs)) || std::abs(mean) + reach <= scale.practical())
      return more;
  }
  return std::nullopt;
}

Comparison CompareRuns(const Judgement& judgement, std::size_t m, const MetricRuns& metric, std::uint32_t rival,
                       std::uint32_t baseline, const CompareOptions& options) {
  const Scale& scale = judgement.scale(m);
  Comparison comparison;
  comparison.unjudged = judgement.WhyNot(m, rival, baseline);
  comparison.runs = comparison.unjudged == Unjudged::kOneObservation ? 1 : judgement.runs();
  Runs plain;
  for (std::size_t i = 0; i < metric.values[rival].size(); ++i)
    plain.push_back(metric.values[rival][i] - metric.values[baseline][i]);
  comparison.difference = MeanByBootstrapT(plain);
  const Runs differences = judgement.DifferencesOf(m, rival, baseline);
  const Estimate effect = scale.logarithmic() ? MeanByBootstrapT(differences) : comparison.difference;
  if (scale.logarithmic()) comparison.ratio = Scale::AsRatio(effect);
  if (comparison.runs == 1) return comparison;
  comparison.shift = HodgesLehmannInterval(plain);
  comparison.p = SignFlipP(differences);
  comparison.p_adjusted = judgement.AdjustedP(m, rival, baseline);
  if (comparison.unjudged != Unjudged::kNo) return comparison;
  const Estimate reversed{-effect.value, -effect.high, -effect.low};
  if (-scale.practical() <= effect.low && effect.high <= scale.practical()) {
    comparison.verdict = Verdict::kSame;
  } else if (judgement.IsAhead(m, rival, baseline, effect)) {
    comparison.verdict = Verdict::kBetter;
  } else if (judgement.IsAhead(m, baseline, rival, reversed)) {
    comparison.verdict = Verdict::kWorse;
  } else {
    comparison.more_runs = MoreRuns(effect.value, Deviation(differences), scale, judgement.Multiple(metric.headline),
                                    comparison.runs, options.significance);
  }
  return comparison;
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

std::string_view UnjudgedName(Unjudged why) {
  switch (why) {
    case Unjudged::kNo:
      return "";
    case Unjudged::kOtherJobs:
      return "other jobs ended";
    case Unjudged::kOneObservation:
      return "one observation";
    case Unjudged::kByItself:
      return "not judged";
  }
  return "";
}

std::vector<MetricComparison> Compare(const std::vector<MetricRuns>& metrics, std::uint32_t baseline,
                                      const CompareOptions& options) {
  if (metrics.empty()) return {};
  MILLRACE_CHECK(baseline < metrics.front().values.size(), "the baseline is none of the schedulers");
  const Judgement judgement(metrics, baseline, options);
  std::vector<MetricComparison> compared(metrics.size());
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const Scale& scale = judgement.scale(m);
    compared[m].has_ratios = scale.logarithmic();
    compared[m].practical = scale.logarithmic() ? std::exp(scale.practical()) : scale.practical();
    compared[m].region = scale.logarithmic() ? std::exp(scale.region()) : scale.region();
    compared[m].same_against_same = scale.SameAgainstSame();
    compared[m].schedulers.resize(judgement.schedulers());
    for (std::uint32_t s = 0; s < judgement.schedulers(); ++s) {
      if (s != baseline) compared[m].schedulers[s] = CompareRuns(judgement, m, metrics[m], s, baseline, options);
    }
    compared[m].winners = judgement.Winners(m);
  }
  return compared;
}

std::uint32_t FewestRuns(std::size_t schedulers, double significance) {
  const double multiple = static_cast<double>(Pairs(schedulers).size()) / kHeadlineShare;
  std::uint32_t runs = kFewestForSignificance;
  while (runs < kExactPairs && LeastSignFlipP(runs) * multiple >= significance) ++runs;
  return runs;
}

}  // namespace millrace::sim
