// SPDX-License-Identifier: Apache-2.0
#include "schedulers/history/job_history.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace millrace::sched {
namespace {

// A hash holds no space, so there is only one way to take the key apart.
std::string Key(const std::string& program, const std::string& input_type) { return program + ' ' + input_type; }

// This bound keeps sums from overflowing: 10^6 jobs of 10^12 us.
constexpr Micros kMaxTotal = 1'000'000'000'000'000'000;

template <class T>
void Append(std::string* text, T value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  if (!text->empty()) *text += ' ';
  text->append(buffer, error == std::errc() ? end : buffer);
}

template <class T>
bool Take(std::string_view* text, T* value) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  if (text->empty()) return true;
  if (text->front() != ' ' || text->size() == 1) return false;
  text->remove_prefix(1);
  return true;
}

template <class Sum, class T>
void Add(Sum* sum, T value) {
  ++sum->jobs;
  sum->total += value;
}

template <class Sum>
auto Mean(const Sum& sum) {
  using T = decltype(sum.total);
  return sum.jobs == 0 ? T{} : sum.total / static_cast<T>(sum.jobs);
}

}  // namespace

std::optional<HistoryRecord> JobHistory::Record(const JobState& job) {
  if (job.progress.outcome != JobOutcome::kSucceeded || job.spec.program.empty()) return std::nullopt;
  if (job.spec.program.find(' ') != std::string::npos) return std::nullopt;
  std::string key = Key(job.spec.program, job.spec.input_type);
  Sums& sums = records_[key];
  ++sums.runs;
  const auto maps = job.MeanTime(TaskKind::kMap), reduces = job.MeanTime(TaskKind::kReduce);
  if (maps && sums.map_time.total < kMaxTotal) Add(&sums.map_time, *maps);
  if (reduces && sums.reduce_time.total < kMaxTotal) Add(&sums.reduce_time, *reduces);
  if (job.map_input_bytes > 0) {
    Add(&sums.output_ratio, static_cast<double>(job.map_output_bytes) / static_cast<double>(job.map_input_bytes));
  }
  return HistoryRecord{std::move(key), Format(sums)};
}

std::vector<std::string> JobHistory::Clear() {
  std::vector<std::string> keys;
  for (const auto& [key, sums] : records_) keys.push_back(key);
  records_.clear();
  return keys;
}

JobProfile JobHistory::Lookup(const std::string& program, const std::string& input_type) const {
  const auto at = records_.find(Key(program, input_type));
  if (at == records_.end()) return {};
  const Sums& sums = at->second;
  return {sums.runs, Mean(sums.map_time), Mean(sums.reduce_time), Mean(sums.output_ratio)};
}

bool JobHistory::Restore(std::string_view key, std::string_view value) {
  const std::size_t space = key.find(' ');
  if (space == 0 || space == std::string_view::npos) return false;
  const auto sums = Parse(value);
  if (!sums) return false;
  records_.insert_or_assign(std::string(key), *sums);
  return true;
}

std::string JobHistory::Format(const Sums& sums) {
  std::string text;
  Append(&text, sums.runs);
  Append(&text, sums.map_time.jobs);
  Append(&text, sums.map_time.total);
  Append(&text, sums.reduce_time.jobs);
  Append(&text, sums.reduce_time.total);
  Append(&text, sums.output_ratio.jobs);
  Append(&text, sums.output_ratio.total);
  return text;
}

std::optional<JobHistory::Sums> JobHistory::Parse(std::string_view text) {
  Sums sums;
  const bool read = Take(&text, &sums.runs) && Take(&text, &sums.map_time.jobs) && Take(&text, &sums.map_time.total) &&
                    Take(&text, &sums.reduce_time.jobs) && Take(&text, &sums.reduce_time.total) &&
                    Take(&text, &sums.output_ratio.jobs) && Take(&text, &sums.output_ratio.total) && text.empty();
  if (!read || sums.runs == 0) return std::nullopt;
  for (const auto* sum : {&sums.map_time, &sums.reduce_time}) {
    if (sum->jobs > sums.runs || sum->total < 0 || sum->total > 2 * kMaxTotal) return std::nullopt;
  }
  const auto& ratio = sums.output_ratio;
  if (ratio.jobs > sums.runs || !std::isfinite(ratio.total) || ratio.total < 0) return std::nullopt;
  return sums;
}

}  // namespace millrace::sched
