// SPDX-License-Identifier: Apache-2.0
#include "schedulers/forecast/task_times.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>

namespace millrace::sched {
namespace {

constexpr std::uint32_t kLongestMean = 8;  // jobs: each later one counts an eighth
constexpr int kAlikeSizes = 3;             // doublings

int SizeClass(std::uint64_t bytes) { return std::bit_width(bytes); }

// Returns the class of the mean size of the job's tasks, or nothing if it has none of that kind. An ended job no longer
// has its inputs, but knows what its maps have read.
std::optional<int> SizeOf(const JobState& job, TaskKind task) {
  std::uint64_t bytes = job.map_input_bytes;
  if (job.alive()) {
    bytes = 0;
    for (const MapInput& map : job.spec.maps) bytes += map.bytes;
  }
  const std::uint32_t tasks = task == TaskKind::kMap ? job.progress.maps : job.progress.reduces;
  if (tasks == 0) return std::nullopt;
  return SizeClass(bytes / tasks);
}

std::string ProgramOf(const JobState& job) {
  return job.spec.program.empty() ? "" : job.spec.program + ' ' + job.spec.input_type;
}

Micros Rounded(double time) { return std::max<Micros>(1, static_cast<Micros>(time)); }

}  // namespace

void TaskTimes::Learn(const JobState& job) {
  if (job.progress.outcome != JobOutcome::kSucceeded) return;
  const auto learn = [&](TaskKind task, double first, double second) {
    const std::optional<int> size = SizeOf(job, task);
    if (!size) return;
    Add({"", task, *size}, first, second);
    const std::string program = ProgramOf(job);
    if (program.empty()) return;
    Add({program, task, *size}, first, second);
    Add({program, task, kAnySize}, first, second);
  };
  if (const auto mean = job.MeanTime(TaskKind::kMap)) learn(TaskKind::kMap, static_cast<double>(*mean), 0);
  if (const std::uint32_t reduces = job.parts.finished; reduces > 0) {
    learn(TaskKind::kReduce, static_cast<double>(job.parts.copying) / reduces,
          static_cast<double>(job.parts.computing) / reduces);
  }
}

void TaskTimes::Add(Kind kind, double first, double second) {
  Means& means = kinds_[std::move(kind)];
  means.jobs = std::min(means.jobs + 1, kLongestMean);
  means.first += (first - means.first) / means.jobs;
  means.second += (second - means.second) / means.jobs;
  means.learnt = ++count_;
  if (kinds_.size() <= kMostKinds) return;
  kinds_.erase(std::min_element(kinds_.begin(), kinds_.end(),
                                [](const auto& a, const auto& b) { return a.second.learnt < b.second.learnt; }));
}

const TaskTimes::Means* TaskTimes::Find(const JobState& job, TaskKind task, TimeBasis* basis) const {
  const std::optional<int> size = SizeOf(job, task);
  if (!size) return nullptr;
  const auto find = [&](const std::string& program, int of_size) -> const Means* {
    const auto at = kinds_.find({program, task, of_size});
    return at == kinds_.end() ? nullptr : &at->second;
  };
  if (const std::string program = ProgramOf(job); !program.empty()) {
    *basis = TimeBasis::kProgram;
    if (const Means* means = find(program, *size)) return means;
    if (const Means* means = find(program, kAnySize)) return means;
  }
  *basis = TimeBasis::kAlike;
  for (int apart = 0; apart <= kAlikeSizes; ++apart) {
    if (const Means* means = find("", *size - apart)) return means;
    if (const Means* means = find("", *size + apart)) return means;
  }
  return nullptr;
}

ExpectedTimes TaskTimes::Of(const JobState& job) const {
  ExpectedTimes times;
  const auto set = [&](TaskKind task, TimeBasis basis, Micros first, Micros second) {
    times.basis[task] = basis;
    if (task == TaskKind::kMap) {
      times.map = std::max<Micros>(first, 1);
    } else {
      times.copy = first, times.compute = std::max<Micros>(second, 1);
    }
  };
  for (const TaskKind task : kTaskKinds) {
    const bool map = task == TaskKind::kMap;
    TimeBasis basis = TimeBasis::kNothing;
    const Micros said = map ? job.spec.map_time : job.spec.reduce_time;
    const Micros before = map ? job.spec.profile.map_time : job.spec.profile.reduce_time;
    if (map && job.times[task].finished > 0) {
      set(task, TimeBasis::kOwn, *job.MeanTime(task), 0);
    } else if (!map && job.parts.finished > 0) {
      set(task, TimeBasis::kOwn, job.parts.copying / job.parts.finished, job.parts.computing / job.parts.finished);
    } else if (said > 0) {
      set(task, TimeBasis::kUser, map ? said : 0, said);
    } else {
      const Means* means = Find(job, task, &basis);
      // The profile survives a restart of the master, so it can know a program that this object does not.
      if (basis != TimeBasis::kProgram && job.spec.profile.runs > 0 && before > 0) {
        set(task, TimeBasis::kProgram, map ? before : 0, before);
      } else if (means != nullptr) {
        set(task, basis, Rounded(means->first), Rounded(means->second));
      }
    }
  }
  return times;
}

}  // namespace millrace::sched
