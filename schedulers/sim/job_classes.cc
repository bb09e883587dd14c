#include "schedulers/sim/job_classes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "schedulers/core/limits.h"
#include "schedulers/parts/settings.h"
#include "schedulers/sim/block_placer.h"

namespace millrace::sim {
namespace {

using sched::kSecond;
using Unit = TomlSection::Unit;

constexpr std::uint32_t kMostJobs = 1'000'000;
constexpr std::uint64_t kMostTasks = 100'000'000;  // of a workload
constexpr double kTopBytes = 1e18, kTopMicros = 1e18;

struct Arrival {
  std::string kind = "batch";
  Time at = 0;     // the first, or all of a batch
  Time every = 0;  // interval; mean of poisson
  Time think = 0;  // closed: between the end of a job and the next
  std::uint32_t workers = 1;
  std::vector<Time> list;
};

struct JobClass {
  std::string name;
  std::uint32_t count = 1;
  std::optional<Distribution> maps, input;
  Distribution split = Distribution::Constant(0);  // 0: the block size
  Distribution reduces = Distribution::Constant(0);
  std::optional<Distribution> reduces_per_map;
  Distribution map_time = Distribution::Constant(10.0 * kSecond), reduce_time = map_time;
  std::optional<Distribution> map_rate, reduce_rate;
  Distribution task_noise = Distribution::Constant(1);
  bool per_task = false;  // times are drawn for each task
  Distribution map_output = Distribution::Constant(1), reduce_output = Distribution::Constant(1);
  double reduce_skew = 0;
  std::vector<std::string> users{"user"}, pools{""}, priorities{"NORMAL"};
  std::optional<Distribution> deadline;
  bool tell_times = false;
  Distribution estimate_bias = Distribution::Constant(1);
  SimJob common;
  std::optional<Arrival> arrival;
};

Arrival ReadArrival(TomlSection& section) {
  Arrival arrival;
  section.Text("kind", &arrival.kind);
  section.Duration("at", &arrival.at);
  if (arrival.kind == "poisson") {
    section.Duration("mean", &arrival.every);
  } else if (arrival.kind == "interval") {
    section.Duration("every", &arrival.every);
  } else if (arrival.kind == "list") {
    section.Durations("times", &arrival.list);
  } else if (arrival.kind == "closed") {
    section.Integer("workers", &arrival.workers, 1, kMostJobs);
    section.Duration("think", &arrival.think);
  } else if (arrival.kind != "batch") {
    section.Fail("kind", Quote(arrival.kind) + " is not batch, poisson, interval, list or closed");
  }
  section.Finish();
  return arrival;
}

void ReadTaskKeys(TomlSection& section, JobClass* read) {
  section.Draws("maps", Unit::kNumber, &read->maps);
  section.Draws("input", Unit::kBytes, &read->input);
  section.Draws("split", Unit::kBytes, &read->split);
  section.Draws("reduces", Unit::kNumber, &read->reduces);
  section.Draws("reduces_per_map", Unit::kNumber, &read->reduces_per_map);
  section.Draws("map_time", Unit::kDuration, &read->map_time);
  section.Draws("reduce_time", Unit::kDuration, &read->reduce_time);
  section.Draws("map_rate", Unit::kBytes, &read->map_rate);
  section.Draws("reduce_rate", Unit::kBytes, &read->reduce_rate);
  section.Draws("task_noise", Unit::kNumber, &read->task_noise);
  section.Bool("per_task", &read->per_task);
  section.Draws("map_output", Unit::kNumber, &read->map_output);
  section.Draws("reduce_output", Unit::kNumber, &read->reduce_output);
  section.Real("reduce_skew", &read->reduce_skew, 0, 100);
  if (read->maps && read->input) section.Fail("input", "`maps` is given too; leave one of them out");
}

const std::map<std::string, sched::Priority>& Priorities() {
  static const std::map<std::string, sched::Priority> kPriorities{{"VERY_HIGH", sched::Priority::kVeryHigh},
                                                                  {"HIGH", sched::Priority::kHigh},
                                                                  {"NORMAL", sched::Priority::kNormal},
                                                                  {"LOW", sched::Priority::kLow},
                                                                  {"VERY_LOW", sched::Priority::kVeryLow}};
  return kPriorities;
}

JobClass ReadClass(TomlSection& section) {
  JobClass read;
  section.Text("name", &read.name);
  section.Integer("count", &read.count, 0, kMostJobs);
  ReadTaskKeys(section, &read);
  section.Texts("user", &read.users);
  section.Texts("pool", &read.pools);
  section.Texts("priority", &read.priorities);
  for (const std::string& priority : read.priorities) {
    if (!Priorities().contains(priority))
      section.Fail("priority", Quote(priority) + " is not VERY_HIGH, HIGH, NORMAL, LOW or VERY_LOW");
  }
  section.Draws("deadline", Unit::kDuration, &read.deadline);
  section.Bool("tell_times", &read.tell_times);
  section.Draws("estimate_bias", Unit::kNumber, &read.estimate_bias);
  SimJob& common = read.common;
  section.Durations("locality_waits", &common.locality_waits);
  section.Text("program", &common.program);
  section.Text("input_type", &common.input_type);
  section.Text("data", &common.input);
  section.Real("slow_start", &common.slow_start, 0, 1);
  section.Integer("max_attempts", &common.max_attempts, 1, 1000);
  if (std::optional<TomlSection> arrival = section.Table("arrival")) read.arrival = ReadArrival(*arrival);
  section.Finish();
  return read;
}

std::uint64_t Bytes(double value) { return static_cast<std::uint64_t>(std::clamp(std::round(value), 0.0, kTopBytes)); }
Time Micros(double value) { return static_cast<Time>(std::clamp(std::round(value), 0.0, kTopMicros)); }
std::size_t Count(double value, std::uint32_t most) {
  return static_cast<std::size_t>(std::clamp(std::round(value), 0.0, static_cast<double>(most)));
}

// The time of tasks of one kind of one job: by rate when there is one, else by time.
class TaskTimes {
 public:
  TaskTimes(const JobClass& of, const Distribution& time, const std::optional<Distribution>& rate, Random& random)
      : of_(of), time_(time), rate_(rate), random_(random), mean_(time.Draw(random)) {
    if (rate_) rate_of_job_ = std::max(1.0, rate_->Draw(random));
  }
  Time Next(double bytes) {
    double time = of_.per_task ? time_.Draw(random_) : mean_;
    if (rate_) time = bytes / (of_.per_task ? std::max(1.0, rate_->Draw(random_)) : rate_of_job_) * kSecond;
    return Micros(time * of_.task_noise.Draw(random_));
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
  const std::uint64_t input = from.input ? Bytes(from.input->Draw(random)) : 0;
  const std::uint64_t blocks = std::max<std::uint64_t>((input + block_size - 1) / block_size, 1);
  const double maps = from.input ? static_cast<double>(blocks) : from.maps ? from.maps->Draw(random) : 1;
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

void DrawReduces(const JobClass& from, Random& random, SimJob* job) {
  TaskTimes times(from, from.reduce_time, from.reduce_rate, random);
  const double ratio = from.reduce_output.Draw(random);
  double reduces = from.reduces.Draw(random);
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

template <class Tasks>
Time MeanTime(const Tasks& tasks) {
  double sum = 0;
  for (const auto& task : tasks) sum += static_cast<double>(task.cpu);
  return tasks.empty() ? 0 : Micros(sum / static_cast<double>(tasks.size()));
}

SimJob DrawJob(const JobClass& from, std::uint32_t number, std::uint64_t block_size, Random random) {
  SimJob job = from.common;
  job.group = from.name;
  job.name = from.name + "-" + std::to_string(number);
  job.user = from.users[number % from.users.size()];
  job.pool = from.pools[number % from.pools.size()];
  job.priority = Priorities().at(from.priorities[number % from.priorities.size()]);
  DrawMaps(from, block_size, random, &job);
  DrawReduces(from, random, &job);
  if (from.deadline) job.deadline = std::max<Time>(1, Micros(from.deadline->Draw(random)));
  if (from.tell_times) {
    const double bias = from.estimate_bias.Draw(random);
    job.map_time = Micros(static_cast<double>(MeanTime(job.maps)) * bias);
    job.reduce_time = Micros(static_cast<double>(MeanTime(job.reduces)) * bias);
  }
  return job;
}

// The jobs' times of submission, in their order.
void Arrive(const Arrival& arrival, Random random, std::vector<SimJob>& jobs, const std::vector<std::size_t>& order) {
  Time next = arrival.at;
  for (std::size_t i = 0; i < order.size(); ++i) {
    SimJob& job = jobs[order[i]];
    job.submit = next;
    if (arrival.kind == "interval") next += arrival.every;
    if (arrival.kind == "poisson") {
      next += Micros(-static_cast<double>(arrival.every) * std::log1p(-random.Unit()));
    } else if (arrival.kind == "list" && !arrival.list.empty()) {
      job.submit = arrival.list[std::min(i, arrival.list.size() - 1)];
    } else if (arrival.kind == "closed" && i >= arrival.workers) {
      job.after = static_cast<std::uint32_t>(order[i - arrival.workers]);
      job.submit = arrival.think;
    }
  }
}

}  // namespace

std::vector<SimJob> ReadJobs(TomlSection& root, std::uint64_t seed, std::uint64_t block_size) {
  std::optional<Arrival> common;
  if (std::optional<TomlSection> section = root.Table("arrival")) common = ReadArrival(*section);
  std::vector<SimJob> jobs;
  std::vector<std::size_t> shared;  // those that arrive together
  std::uint64_t tasks = 0;
  std::uint32_t number_of_class = 0;
  for (TomlSection& section : root.Tables("jobs")) {
    const JobClass read = ReadClass(section);
    if (!section.ok()) return {};
    std::vector<std::size_t> own;
    for (std::uint32_t i = 0; i < read.count; ++i) {
      (read.arrival ? own : shared).push_back(jobs.size());
      jobs.push_back(DrawJob(read, i, block_size, Random(MixSeeds(seed, number_of_class, i, 1))));
      tasks += jobs.back().maps.size() + jobs.back().reduces.size();
      if (tasks > kMostTasks || jobs.size() > kMostJobs) {
        section.Fail("count", "the workload has more than 1000000 jobs or 100000000 tasks");
        return {};
      }
    }
    if (read.arrival) Arrive(*read.arrival, Random(MixSeeds(seed, number_of_class, 0, 2)), jobs, own);
    ++number_of_class;
  }
  Random random(MixSeeds(seed, 0, 0, 3));
  if (common && common->kind != "batch") {
    for (std::size_t i = shared.size(); i > 1; --i) std::swap(shared[i - 1], shared[random.Below(i)]);
  }
  Arrive(common.value_or(Arrival{}), random, jobs, shared);
  return jobs;
}

}  // namespace millrace::sim
