// SPDX-License-Identifier: Apache-2.0
#include "schedulers/forecast/intervals.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace millrace::sched {
namespace {

constexpr Micros kRounding = kMillisecond;  // more than logarithms lose of a prediction that was always right
constexpr double kOtherProgram = 0.7, kOtherStage = 1, kOtherScheduler = 5;

double LogOf(Micros time) { return std::log(static_cast<double>(std::max<Micros>(time, 0) + Intervals::kGrain)); }

double ErrorOf(const ForetoldRecord& record) { return LogOf(record.actual) - LogOf(record.predicted); }

Micros Moved(Micros predicted, double error) {
  const double moved = std::exp(LogOf(predicted) + error) - static_cast<double>(Intervals::kGrain);
  constexpr double kMost = 4e18;
  return static_cast<Micros>(std::clamp(moved, 0.0, kMost));
}

// Returns the quantile of sorted values: that of n values which n + 1 of them lie below or above as often as the share
// says (Vovk's); an end of the range beyond them.
double Quantile(const std::vector<double>& sorted, double share, bool upper) {
  const double place = share * static_cast<double>(sorted.size() + 1);
  const double rank = upper ? std::ceil(place) : std::floor(place);
  const double index = std::clamp(rank - 1, 0.0, static_cast<double>(sorted.size() - 1));
  return sorted[static_cast<std::size_t>(index)];
}

template <class Number>
bool TakeNumber(std::string_view* text, Number* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  if (!text->empty() && text->front() == ' ') text->remove_prefix(1);
  return true;
}

}  // namespace

std::uint64_t HashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

Intervals::Kind::Kind() {
  for (std::size_t i = 0; i < kLevels.size(); ++i) miss[i] = 1 - kLevels[i] / 100.0;
}

Spread Intervals::Around(const ForetoldRecord& asked) const {
  struct Near {
    double distance, error;
    bool elsewhere;
  };
  const Kind& kind = Of(asked.what);
  const Micros predicted = asked.predicted;
  const double log_predicted = LogOf(predicted);
  std::vector<Near> near;
  near.reserve(kind.kept.size());
  for (const Kept& kept : kind.kept) {
    const ForetoldRecord& record = kept.record;
    if (record.overtaken) continue;
    const bool elsewhere = record.scheduler != asked.scheduler;
    const double distance = std::abs(LogOf(record.predicted) - log_predicted) +
                            (record.program != asked.program ? kOtherProgram : 0) +
                            (record.first != asked.first ? kOtherStage : 0) + (elsewhere ? kOtherScheduler : 0);
    near.push_back({distance, ErrorOf(record), elsewhere});
  }
  std::stable_sort(near.begin(), near.end(), [](const Near& a, const Near& b) { return a.distance < b.distance; });
  if (near.size() > kNear) near.resize(kNear);
  Spread spread;
  spread.records = static_cast<std::uint32_t>(near.size());
  std::vector<double> errors;
  for (const Near& record : near) {
    spread.elsewhere += record.elsewhere ? 1 : 0;
    errors.push_back(record.error);
  }
  spread.likely = predicted;
  if (near.size() < kLeast) return spread;
  std::sort(errors.begin(), errors.end());
  spread.likely = Moved(predicted, errors[errors.size() / 2]);
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    const double half = kind.miss[i] / 2;
    Micros lo = std::min(spread.likely, Moved(predicted, Quantile(errors, half, false)) - kRounding);
    Micros hi = std::max(spread.likely, Moved(predicted, Quantile(errors, 1 - half, true)) + kRounding);
    if (i > 0) {
      lo = std::min(lo, spread.intervals[i - 1].lo);
      hi = std::max(hi, spread.intervals[i - 1].hi);
    }
    spread.intervals.push_back({std::max<Micros>(lo, 0), hi, kLevels[i]});
  }
  return spread;
}

OwnRecord Intervals::Own(Foretold what) const {
  OwnRecord own;
  const auto& kept = Of(what).kept;
  for (auto at = kept.rbegin(); at != kept.rend() && own.stated < kJudged; ++at) {
    const std::optional<bool>& held = at->record.held[kShownLevel];
    if (!held) continue;
    ++own.stated;
    own.held += *held ? 1 : 0;
  }
  return own;
}

void Intervals::Add(const ForetoldRecord& record) {
  Kind& kind = Of(record.what);
  for (std::size_t i = 0; i < kLevels.size() && !record.overtaken; ++i) {
    if (!record.held[i]) continue;
    const double missed = *record.held[i] ? 0 : 1;
    kind.miss[i] = std::clamp(kind.miss[i] + kStep * (1 - kLevels[i] / 100.0 - missed), kLeastMiss, kMostMiss);
  }
  kind.kept.push_back({++kind.added, record, kind.miss});
  if (kind.kept.size() > kKept) kind.kept.pop_front();
}

std::vector<Intervals::Stored> Intervals::LastStored(Foretold what, std::size_t count) const {
  const auto& kept = Of(what).kept;
  std::vector<Stored> stored;
  for (std::size_t i = kept.size() - std::min(count, kept.size()); i < kept.size(); ++i) {
    stored.push_back(StoredOf(kept[i]));
  }
  return stored;
}

Intervals::Stored Intervals::StoredOf(const Kept& kept) {
  const auto& [number, record, miss] = kept;
  Stored stored;
  stored.key = std::to_string(static_cast<int>(record.what)) + '/' + std::to_string(number % kKept);
  std::string held;
  for (const std::optional<bool>& at : record.held) held += !at ? '-' : *at ? 'y' : 'n';
  for (const std::uint64_t part :
       {number, static_cast<std::uint64_t>(record.predicted), static_cast<std::uint64_t>(record.actual), record.program,
        record.scheduler, std::uint64_t{record.overtaken}, std::uint64_t{record.first}}) {
    stored.value += std::to_string(part) + ' ';
  }
  for (const double of_level : miss) stored.value += std::to_string(std::llround(of_level * 1e6)) + ' ';
  stored.value += held;
  return stored;
}

bool Intervals::Restore(std::string_view key, std::string_view value) {
  std::uint64_t what = 0, place = 0, number = 0, overtaken = 0, first = 0;
  if (!TakeNumber(&key, &what) || what >= kForetold.size() || !key.starts_with('/')) return false;
  key.remove_prefix(1);
  Kept kept;
  ForetoldRecord& record = kept.record;
  record.what = kForetold[what];
  if (!TakeNumber(&key, &place) || !key.empty()) return false;
  if (!TakeNumber(&value, &number) || number == 0 || number % kKept != place) return false;
  kept.number = number;
  if (!TakeNumber(&value, &record.predicted) || !TakeNumber(&value, &record.actual) || record.predicted < 0 ||
      record.actual < 0 || !TakeNumber(&value, &record.program) || !TakeNumber(&value, &record.scheduler) ||
      !TakeNumber(&value, &overtaken) || overtaken > 1 || !TakeNumber(&value, &first) || first > 1) {
    return false;
  }
  record.overtaken = overtaken == 1;
  record.first = first == 1;
  for (double& miss : kept.miss) {
    std::uint32_t millionths = 0;
    if (!TakeNumber(&value, &millionths) || millionths > 1'000'000) return false;
    miss = std::clamp(millionths / 1e6, kLeastMiss, kMostMiss);
  }
  if (value.size() != record.held.size()) return false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '-' && value[i] != 'y' && value[i] != 'n') return false;
    if (value[i] != '-') record.held[i] = value[i] == 'y';
  }
  Of(record.what).kept.push_back(kept);
  return true;
}

void Intervals::Restored() {
  for (Kind& kind : kinds_) {
    std::sort(kind.kept.begin(), kind.kept.end(), [](const Kept& a, const Kept& b) { return a.number < b.number; });
    while (kind.kept.size() > kKept) kind.kept.pop_front();
    if (kind.kept.empty()) continue;
    kind.added = kind.kept.back().number;
    kind.miss = kind.kept.back().miss;
  }
}

}  // namespace millrace::sched
