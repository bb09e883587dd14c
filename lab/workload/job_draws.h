// SPDX-License-Identifier: Apache-2.0
// A class of jobs ([[jobs]] of a workload file), and the jobs drawn from it. Private to lab/workload. Thread rule: free
// functions, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "lab/workload/distribution.h"
#include "lab/workload/toml_section.h"
#include "lab/workload/workload.h"

namespace millrace::sim {

struct Arrival {
  std::string kind = "batch";
  Micros at = 0;     // time of the first job, or of all jobs of a batch
  Micros every = 0;  // the interval; for poisson its mean
  Micros think = 0;  // closed: between the end of a job and the next
  std::uint32_t workers = 1;
  std::string after;  // closed: the class whose jobs the first ones follow; empty: they come at once
  std::vector<Micros> list;
  Distribution gap = Distribution::Constant(0);  // renewal: between two jobs, us
  // Users and pools that the jobs take in turns, in the order of their arrival; empty: those of the class.
  NameList users, pools;
  enum class Order : std::uint8_t { kUsual, kListed, kRandom, kJohnson };
  Order order = Order::kUsual;  // as listed for a batch, else random
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
  std::optional<Distribution> reduce_cost;  // time for a byte, over that of the job's maps
  Distribution task_noise = Distribution::Constant(1);
  bool per_task = false;  // times are drawn for each task
  Distribution map_output = Distribution::Constant(1), reduce_output = Distribution::Constant(1);
  double reduce_skew = 0;
  NameList users{{"user"}}, pools{{""}}, priorities{{"NORMAL"}};
  std::optional<Distribution> deadline;
  bool tell_times = false;
  Distribution estimate_bias = Distribution::Constant(1);
  std::optional<Distribution> reduce_estimate_bias;  // else that of the maps
  bool located = true;                               // false: the maps' input lies on no node of the cluster
  double size_factor = 1;                            // of `input`, `maps` and `reduces`
  SimJob common;
  std::optional<Arrival> arrival;
};

// Returns the priorities by their names in journals.
[[nodiscard]] const std::map<std::string, sched::Priority>& Priorities();

// Returns the time nearest to the drawn number, at least 0.
[[nodiscard]] Micros ToMicros(double value);
// Returns the mean CPU time of the tasks of a job; 0 if there are none.
template <class Tasks>
[[nodiscard]] Micros MeanTime(const Tasks& tasks) {
  double sum = 0;
  for (const auto& task : tasks) sum += static_cast<double>(task.cpu);
  return tasks.empty() ? 0 : ToMicros(sum / static_cast<double>(tasks.size()));
}

// Returns the job with this number in its class, without the time of its submission.
[[nodiscard]] SimJob DrawJob(const JobClass& from, std::uint32_t number, std::uint64_t block_size, Random random);

}  // namespace millrace::sim
