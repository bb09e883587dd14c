// SPDX-License-Identifier: Apache-2.0
// Runs input.maps maps and the job's number of reduces, each of which sleeps for a time. Without times the tasks are
// empty. It writes nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "client/api/job.h"

namespace millrace::examples {

struct Sleep {
  using Input = Numbers;
  using Key = std::uint32_t;  // the number of a reduce
  using Value = Nothing;

  static void Options(JobOptions& options) {
    constexpr Micros kLongest = 24 * 3600 * kSecond;
    options.Duration("sleep.map_time", 0, 0, kLongest, "how long a map sleeps for each of its records, by default one");
    options.Duration("sleep.reduce_time", 0, 0, kLongest, "how long a reduce sleeps");
  }

  explicit Sleep(const TaskContext& context)
      : reduces_(context.facts().reduces),
        map_time_(context.options().duration("sleep.map_time")),
        reduce_time_(context.options().duration("sleep.reduce_time")) {}

  // A reduce without a key would not be called, so the first record emits a key for each reduce.
  void Map(std::uint64_t number, auto& emit) {
    std::this_thread::sleep_for(std::chrono::microseconds(map_time_));
    if (number != 0) return;
    for (std::uint32_t reduce = 0; reduce < reduces_; ++reduce) emit(reduce);
  }

  static std::uint32_t Partition(const std::uint32_t& reduce, std::uint32_t partitions) { return reduce % partitions; }

  void Reduce(std::uint32_t, auto&, auto&) { std::this_thread::sleep_for(std::chrono::microseconds(reduce_time_)); }

 private:
  std::uint32_t reduces_;
  Micros map_time_, reduce_time_;
};

}  // namespace millrace::examples
