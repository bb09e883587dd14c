// SPDX-License-Identifier: Apache-2.0
#include "lab/workload/job_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedulers/events/limits.h"

namespace millrace::sim {
namespace {

constexpr double kTopBytes = 1e18, kTopMicros = 1e18;

std::uint64_t Bytes(double value) { return static_cast<std::uint64_t>(std::clamp(std::round(value), 0.0, kTopBytes)); }
std::size_t Count(double value, std::uint32_t most) {
  return static_cast<std::size_t>(std::clamp(std::round(value), 0.0, static_cast<double>(most)));
}
// Returns the number times the factor, but at least 1 if the number is above 0.
double Scaled(double number, double factor) {
  return factor == 1 || number <= 0 ? number : std::max(1.0, std::round(number) * factor);
}

// Draws the times of a job's tasks of one kind: by the rate if there is one, else by the time.
class TaskTimes {
 public:
  TaskTimes(const JobClass& of, const Distribution& time, const std::optional<Distribution>& rate, Random& random)
      : of_(of), time_(time), rate_(rate), random_(random), mean_(time.Draw(random)) {
    if (rate_) rate_of_job_ = std::max(1.0, rate_->Draw(random));
  }
  Micros Next(double bytes) {
    double time = of_.per_task ? time_.Draw(random_) : mean_;
    if (rate_) time = bytes / (of_.per_task ? std::max(1.0, rate_->Draw(random_)) : rate_of_job_) * kSecond;
    return ToMicros(time * of_.task_noise.Draw(random_));
  }

 private:
  const JobClass& of_;
  const Distribution& time_;
  const std::optional<Distribution>& rate_;
  Random& random_;
  double mean_, rate_of_job_ = 1;
};

void DrawMaps(const JobClass& from, std::uint64_t block_size, Random& random, SimJob* job) {
  TaskTimes times(from, from.map_time, from.map_rate, random);
  const double ratio = from.map_output.Draw(random);
  const std::uint64_t input = from.input ? Bytes(from.input->Draw(random) * from.size_factor) : 0;
  const std::uint64_t blocks = std::max<std::uint64_t>((input + block_size - 1) / block_size, 1);
  const double maps = from.input  ? static_cast<double>(blocks)
                      : from.maps ? Scaled(from.maps->Draw(random), from.size_factor)
                                  : 1;
  job->maps.resize(Count(maps, sched::kMaxMaps));
  for (std::size_t i = 0; i < job->maps.size(); ++i) {
    SimMap& map = job->maps[i];
    const std::uint64_t drawn = Bytes(from.split.Draw(random));
    map.bytes = drawn > 0 ? drawn : block_size;
    if (from.input) map.bytes = std::min(block_size, input - std::min(input, i * block_size));
    map.cpu = times.Next(static_cast<double>(map.bytes));
    map.output = Bytes(static_cast<double>(map.bytes) * ratio);
  }
}

// Returns the bytes a second of a job's reduces: drawn, or as many times slower than its maps as is drawn.
std::optional<Distribution> ReduceRate(const JobClass& from, const SimJob& job, Random& random) {
  if (!from.reduce_cost) return from.reduce_rate;
  double bytes = 0, seconds = 0;
  for (const SimMap& map : job.maps) {
    bytes += static_cast<double>(map.bytes), seconds += static_cast<double>(map.cpu) / kSecond;
  }
  const double cost = seconds * from.reduce_cost->Draw(random);
  return Distribution::Constant(cost > 0 ? bytes / cost : std::numeric_limits<double>::infinity());
}

// Returns the name of a job with this number in its class.
std::string NameOf(const NameList& names, std::uint32_t number, Random& random) {
  return names.names[names.drawn ? random.Below(names.names.size()) : number % names.names.size()];
}

void DrawReduces(const JobClass& from, Random& random, SimJob* job) {
  const std::optional<Distribution> rate = ReduceRate(from, *job, random);
  TaskTimes times(from, from.reduce_time, rate, random);
  const double ratio = from.reduce_output.Draw(random);
  double reduces = Scaled(from.reduces.Draw(random), from.size_factor);
  if (from.reduces_per_map) {
    reduces = std::max(1.0, static_cast<double>(job->maps.size()) * from.reduces_per_map->Draw(random));
  }
  job->reduces.resize(Count(reduces, sched::kMaxReduces));
  double shuffle = 0, weights = 0;
  for (const SimMap& map : job->maps) shuffle += static_cast<double>(map.output);
  for (std::size_t i = 0; i < job->reduces.size(); ++i) {
    job->reduces[i].weight = std::pow(static_cast<double>(i + 1), -from.reduce_skew);
    weights += job->reduces[i].weight;
  }
  for (SimReduce& reduce : job->reduces) {
    const double bytes = shuffle * reduce.weight / weights;
    reduce.cpu = times.Next(bytes);
    reduce.output = Bytes(bytes * ratio);
  }
}

}  // namespace

const std::map<std::string, sched::Priority>& Priorities() {
  static const std::map<std::string, sched::Priority> kPriorities{{"VERY_HIGH", sched::Priority::kVeryHigh},
                                                                  {"HIGH", sched::Priority::kHigh},
                                                                  {"NORMAL", sched::Priority::kNormal},
                                                                  {"LOW", sched::Priority::kLow},
                                                                  {"VERY_LOW", sched::Priority::kVeryLow}};
  return kPriorities;
}

Micros ToMicros(double value) { return static_cast<Micros>(std::clamp(std::round(value), 0.0, kTopMicros)); }

SimJob DrawJob(const JobClass& from, std::uint32_t number, std::uint64_t block_size, Random random) {
  SimJob job = from.common;
  job.group = from.name;
  job.name = from.name + "-" + std::to_string(number);
  DrawMaps(from, block_size, random, &job);
  DrawReduces(from, random, &job);
  if (!from.located) job.replicas.assign(job.maps.size(), {});
  if (from.deadline) job.deadline = std::max<Micros>(1, ToMicros(from.deadline->Draw(random)));
  if (from.tell_times) {
    const double bias = from.estimate_bias.Draw(random);
    const double of_reduces = from.reduce_estimate_bias ? from.reduce_estimate_bias->Draw(random) : bias;
    job.map_time = ToMicros(static_cast<double>(MeanTime(job.maps)) * bias);
    job.reduce_time = ToMicros(static_cast<double>(MeanTime(job.reduces)) * of_reduces);
  }
  job.user = NameOf(from.users, number, random);
  job.pool = NameOf(from.pools, number, random);
  job.priority = Priorities().at(NameOf(from.priorities, number, random));
  return job;
}

}  // namespace millrace::sim
