// SPDX-License-Identifier: Apache-2.0
// Makes load of any shape, after the load generator of Hadoop's GridMix. Maps and reduces each keep a part of their
// records (more than 100% makes copies), and each record costs some CPU work. So a job can be a scan, a sort, a filter,
// or bound by the CPU. A task can also sleep when it has done its work, so that its time does not depend on the
// machine's other work. The records of LoadGen are the lines of its input; those of LoadGenRandom are made from a seed.
// Of the first n records of a task, ceil(n * kept part) are written.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include "client/api/job.h"

namespace millrace::examples {

// KeptPart decides which records of a task are written, and how often.
class KeptPart {
 public:
  explicit KeptPart(double percent) : part_(percent / 100) {}
  // Returns how often the next record is written.
  std::uint64_t Copies() {
    const auto due = static_cast<std::uint64_t>(std::ceil(static_cast<double>(++records_) * part_));
    const std::uint64_t copies = due - written_;
    written_ = due;
    return copies;
  }

 private:
  double part_;
  std::uint64_t records_ = 0, written_ = 0;
};

// Does `rounds` dependent steps of arithmetic, of about 4 ns each. The result depends on all of them.
inline std::uint64_t Work(std::uint64_t rounds, std::uint64_t state) {
  for (std::uint64_t i = 0; i < rounds; ++i) state = Random(state).Next();
  return state;
}

class LoadGenBase {
 public:
  using Key = std::string_view;
  using Value = Nothing;

  static void Options(JobOptions& options) {
    constexpr std::int64_t kMostWork = 1'000'000'000;
    options.Real("loadgen.keep_map", 100, 0, 10'000, "percent of their records that maps write");
    options.Real("loadgen.keep_reduce", 100, 0, 10'000, "percent of their records that reduces write");
    options.Integer("loadgen.map_work", 0, 0, kMostWork, "rounds of work for each record of a map, about 4 ns a round");
    options.Integer("loadgen.reduce_work", 0, 0, kMostWork, "rounds of work for each record of a reduce");
    constexpr Micros kLongest = 24 * 3600 * kSecond;
    options.Duration("loadgen.map_time", 0, 0, kLongest, "how long a map sleeps after its last record");
    options.Duration("loadgen.reduce_time", 0, 0, kLongest, "how long a reduce sleeps after its last record");
  }

  explicit LoadGenBase(TaskContext& context)
      : keep_(context.options().real(OptionOf(context, "loadgen.keep_map", "loadgen.keep_reduce"))),
        work_(static_cast<std::uint64_t>(
            context.options().integer(OptionOf(context, "loadgen.map_work", "loadgen.reduce_work")))),
        time_(context.options().duration(OptionOf(context, "loadgen.map_time", "loadgen.reduce_time"))) {}

  void Reduce(std::string_view line, auto& values, auto& emit) {
    for ([[maybe_unused]] const Nothing& value : values) Take(line, emit);
  }

  void FinishMap(auto&) const { std::this_thread::sleep_for(std::chrono::microseconds(time_)); }
  void FinishReduce(auto&) const { std::this_thread::sleep_for(std::chrono::microseconds(time_)); }

 protected:
  void Take(std::string_view line, auto& emit) {
    if (work_ > 0) asm volatile("" : : "r"(Work(work_, line.size())));  // so that the compiler does not remove it
    for (std::uint64_t copies = keep_.Copies(); copies > 0; --copies) emit(line);
  }

 private:
  static const char* OptionOf(const TaskContext& context, const char* map, const char* reduce) {
    return context.facts().attempt.task.reduce() ? reduce : map;
  }

  KeptPart keep_;
  std::uint64_t work_;
  Micros time_;
};

struct LoadGen : LoadGenBase {
  using LoadGenBase::LoadGenBase;
  void Map(std::string_view line, auto& emit) { Take(line, emit); }
};

// Records are lines of letters. A line depends on its number and loadgen.seed alone.
struct LoadGenRandom : LoadGenBase {
  using Input = Numbers;

  static void Options(JobOptions& options) {
    LoadGenBase::Options(options);
    options.Integer("loadgen.record_bytes", 100, 1, 1 << 20, "length of a record, its end of line included");
    options.Integer("loadgen.seed", 1, 0, std::numeric_limits<std::int64_t>::max(), "another seed makes other records");
  }

  explicit LoadGenRandom(TaskContext& context)
      : LoadGenBase(context),
        seed_(Random(static_cast<std::uint64_t>(context.options().integer("loadgen.seed"))).Next()),
        line_(static_cast<std::size_t>(context.options().integer("loadgen.record_bytes")) - 1, ' ') {}

  void Map(std::uint64_t number, auto& emit) {
    constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEF";
    constexpr std::size_t kOfOneNumber = 12;              // letters, of five bits each
    Random random(seed_ + number * 0xd1342543de82ef95u);  // so that streams of different numbers begin far apart
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < line_.size(); ++i, bits >>= 5) {
      if (i % kOfOneNumber == 0) bits = random.Next();
      line_[i] = kLetters[bits & 31];
    }
    Take(line_, emit);
  }

 private:
  std::uint64_t seed_;
  std::string line_;
};

}  // namespace millrace::examples
