// SPDX-License-Identifier: Apache-2.0
#include "lab/workload/swim.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "lab/workload/distribution.h"
#include "lab/workload/job_draws.h"
#include "schedulers/events/limits.h"

namespace millrace::sim {
namespace {

constexpr std::size_t kFields = 6;
constexpr std::uint64_t kMostBytes = 1ULL << 60;
constexpr std::uint64_t kMostSeconds = 10ULL * 366 * 86400;

std::string_view CutAt(std::string_view* text, char separator) {
  const std::size_t at = std::min(text->find(separator), text->size());
  const std::string_view word = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return word;
}

Result<std::uint64_t> Number(std::string_view text, std::string_view what, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most)
    return Invalid(std::string(what) + " is " + Quote(text) + ", not a number from 0 to " + std::to_string(most));
  return value;
}

std::uint64_t Scaled(std::uint64_t bytes, double scale) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) * scale));
}

Micros CpuTime(const SwimOptions& options, double bytes, double rate) {
  return options.task_overhead + static_cast<Micros>(bytes / rate * kSecond);
}

// Returns one of the `parts` into which `total` is split as equally as possible: the first ones are one byte larger.
std::uint64_t Part(std::uint64_t total, std::uint64_t parts, std::uint64_t index) {
  return total / parts + (index < total % parts ? 1 : 0);
}

Status AddMaps(std::uint64_t input, std::uint64_t shuffle, const SwimOptions& options, SimJob* job) {
  input = std::max<std::uint64_t>(input, 1);
  const std::uint64_t maps = (input + options.block_size - 1) / options.block_size;
  if (maps > sched::kMaxMaps)
    return Invalid("the job would have " + std::to_string(maps) + " maps; use larger blocks or a smaller scale");
  job->maps.resize(maps);
  for (std::uint64_t i = 0; i < maps; ++i) {
    SimMap& map = job->maps[i];
    map.bytes = i + 1 < maps ? options.block_size : input - (maps - 1) * options.block_size;
    map.output = Part(shuffle, maps, i);
    map.cpu = CpuTime(options, static_cast<double>(map.bytes), options.map_rate);
  }
  return Status::Ok();
}

void AddReduces(std::uint64_t shuffle, std::uint64_t output, const SwimOptions& options, SimJob* job) {
  const double bytes = static_cast<double>(shuffle) + static_cast<double>(output);
  auto reduces = static_cast<std::uint64_t>(std::llround(bytes / static_cast<double>(options.bytes_per_reduce)));
  if (reduces > options.nodes) reduces = options.nodes / 5;
  reduces = std::max<std::uint64_t>(reduces, 1);
  job->reduces.resize(reduces);
  for (std::uint64_t i = 0; i < reduces; ++i) {
    job->reduces[i].cpu = CpuTime(options, bytes / static_cast<double>(reduces), options.reduce_rate);
    job->reduces[i].output = Part(output, reduces, i);
  }
}

Result<SimJob> ParseJob(std::string_view line, const SwimOptions& options) {
  std::array<std::string_view, kFields> fields;
  for (std::size_t i = 0; i < kFields; ++i) {
    if (line.empty()) return Invalid("there are " + std::to_string(i) + " fields, not 6, separated by tabs");
    fields[i] = CutAt(&line, '\t');
  }
  MILLRACE_ASSIGN(const std::uint64_t submit, Number(fields[1], "the time of submission", kMostSeconds));
  MILLRACE_ASSIGN(const std::uint64_t input, Number(fields[3], "the map input", kMostBytes));
  MILLRACE_ASSIGN(const std::uint64_t shuffle, Number(fields[4], "the shuffle", kMostBytes));
  MILLRACE_ASSIGN(const std::uint64_t output, Number(fields[5], "the output", kMostBytes));
  SimJob job;
  job.name = fields[0];
  job.input = line;
  job.submit = static_cast<Micros>(submit) * kSecond;
  const std::uint64_t shuffled = Scaled(shuffle, options.scale);
  MILLRACE_TRY(AddMaps(Scaled(input, options.scale), shuffled, options, &job));
  if (shuffle > 0) AddReduces(shuffled, Scaled(output, options.scale), options, &job);
  return job;
}

void DrawUsers(const SwimOptions& options, std::vector<SimJob>& jobs) {
  const Distribution ranks = Distribution::Zipf(options.user_skew, 1, options.users);
  Random random(options.seed);
  for (SimJob& job : jobs) job.user = "user" + std::to_string(std::llround(ranks.Draw(random)));
}

void DrawEstimates(const SwimOptions& options, std::vector<SimJob>& jobs) {
  Random random(options.seed + 1);  // so that users do not depend on whether there are estimates
  const auto wrong = [](Micros time, double bias) { return ToMicros(static_cast<double>(time) * bias); };
  for (SimJob& job : jobs) {
    const double bias = options.estimate_bias->Draw(random);
    job.map_time = wrong(MeanTime(job.maps), bias), job.reduce_time = wrong(MeanTime(job.reduces), bias);
  }
}

}  // namespace

Result<Workload> ParseSwim(std::string_view text, const std::string& file_name, const SwimOptions& options) {
  Workload workload;
  workload.name = file_name;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = CutAt(&text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    Result<SimJob> job = ParseJob(line, options);
    if (!job.ok()) return std::move(job).status().Within(file_name + ":" + std::to_string(number));
    workload.jobs.push_back(std::move(*job));
  }
  if (options.users > 0) DrawUsers(options, workload.jobs);
  if (options.estimate_bias) DrawEstimates(options, workload.jobs);
  return workload;
}

}  // namespace millrace::sim
