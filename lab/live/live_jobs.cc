// SPDX-License-Identifier: Apache-2.0
#include "lab/live/live_jobs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/crc32c.h"
#include "base/text.h"
#include "lab/workload/block_placer.h"

namespace millrace::compare {
namespace {

constexpr std::uint64_t kParts = 16;             // of a block: sizes of files are so many of these
constexpr std::uint64_t kPoolBytes = 256 << 20;  // of each size, unless one job needs more
constexpr std::uint64_t kLine = 32;              // bytes of a line of `tuples`, which loadgen reads
constexpr double kMostWork = 1e9, kMostKept = 10'000;

std::string Seconds(double micros) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6fs", micros / 1e6);
  return text;
}

std::string Option(const std::string& name, const std::string& value) { return name + "=" + value; }

template <class Tasks, class Of>
double Sum(const Tasks& tasks, const Of& of) {
  return std::accumulate(tasks.begin(), tasks.end(), 0.0,
                         [&](double sum, const auto& task) { return sum + static_cast<double>(of(task)); });
}

template <class Tasks>
double MeanTime(const Tasks& tasks) {
  return tasks.empty() ? 0 : Sum(tasks, [](const auto& task) { return task.cpu; }) / static_cast<double>(tasks.size());
}

// The files of one set of data, by their size in parts of a block.
struct Library {
  std::string kind, place;
  bool pool = false;
  std::map<std::uint64_t, std::uint64_t> most, total;  // files that a job needs at most; that all jobs need

  [[nodiscard]] std::uint64_t Count(std::uint64_t parts, std::uint64_t block_size) const {
    const std::uint64_t least = most.at(parts);
    if (!pool) return least;
    return std::clamp(kPoolBytes / std::max<std::uint64_t>(1, parts * block_size / kParts), least, total.at(parts));
  }
};

class Maker {
 public:
  Maker(const sim::SimulationFile& file, const LiveJobsOptions& options) : file_(file), options_(options) {}

  Result<LiveJobs> Make() {
    const std::vector<sim::SimJob>& jobs = file_.workload.jobs;
    for (std::uint32_t job = 0; job < jobs.size(); ++job) MILLRACE_TRY(Count(job));
    MILLRACE_TRY(AddFiles());
    for (std::uint32_t job = 0; job < jobs.size(); ++job) made_.jobs.push_back(MakeJob(job));
    return std::move(made_);
  }

 private:
  [[nodiscard]] const sim::LiveClass& ClassOf(std::uint32_t job) const {
    return file_.live.classes[file_.live.class_of[job]];
  }

  [[nodiscard]] static bool Reads(const sim::SimJob& job) {
    return std::ranges::any_of(job.maps, [](const sim::SimMap& map) { return map.bytes > 0; }) &&
           (job.replicas.empty() ||
            std::ranges::any_of(job.replicas, [](const auto& nodes) { return !nodes.empty(); }));
  }

  [[nodiscard]] std::string LibraryOf(std::uint32_t job) const {
    const sim::LiveClass& of = ClassOf(job);
    if (!of.data.empty()) return of.data;
    return of.program.empty() ? "pool-tuples" : "pool-text";
  }

  [[nodiscard]] std::uint64_t PartsOf(std::uint64_t bytes) const {
    const std::uint64_t part = std::max<std::uint64_t>(1, file_.live.block_size / kParts);
    return std::clamp<std::uint64_t>((bytes + part - 1) / part, 1, kParts);
  }

  // Notes which files the job needs.
  Status Count(std::uint32_t index) {
    const sim::SimJob& job = file_.workload.jobs[index];
    const sim::LiveClass& of = ClassOf(index);
    if (!Reads(job)) return Status::Ok();
    if (!job.replicas.empty()) return Invalid(of.place + ".places: a live cluster places blocks itself; leave it out");
    Library& library = libraries_[LibraryOf(index)];
    if (library.place.empty()) {
      const sim::DataSet* set = file_.live.Find(of.data);
      library.kind = set != nullptr ? set->kind : of.program.empty() ? "tuples" : "text";
      library.place = set != nullptr ? set->place : of.place;
      library.pool = of.data.empty();
    }
    std::map<std::uint64_t, std::uint64_t> needs;
    for (const sim::SimMap& map : job.maps) {
      if (map.bytes > file_.live.block_size)
        return Invalid(of.place + ".split: a map reads one block at most; make block_size at least " +
                       std::to_string(map.bytes));
      ++needs[PartsOf(map.bytes)];
    }
    for (const auto& [parts, count] : needs) {
      library.most[parts] = std::max(library.most[parts], count);
      library.total[parts] += count;
    }
    const sim::DataSet* set = file_.live.Find(of.data);
    if (set == nullptr || set->size == 0) return Status::Ok();
    const std::uint64_t blocks = (set->size + file_.live.block_size - 1) / file_.live.block_size;
    if (job.maps.size() <= blocks) return Status::Ok();
    return Invalid(of.place + ": " + Quote(job.name) + " has " + std::to_string(job.maps.size()) + " maps, but " +
                   Quote(of.data) + " has " + std::to_string(blocks) + " blocks; make its size larger");
  }

  [[nodiscard]] static std::string FileName(const std::string& library, std::uint64_t parts, std::uint64_t number) {
    char text[48];
    std::snprintf(text, sizeof text, "/%02llu-%05llu", static_cast<unsigned long long>(parts),
                  static_cast<unsigned long long>(number));
    return library + text;
  }

  Status AddFiles() {
    for (const auto& [name, library] : libraries_) {
      for (const auto& [parts, most] : library.most) {
        const std::uint64_t bytes = std::max<std::uint64_t>(kLine, file_.live.block_size * parts / kParts);
        const std::uint64_t count = library.Count(parts, file_.live.block_size);
        for (std::uint64_t i = 0; i < count; ++i) {
          const std::string file = FileName(name, parts, i);
          made_.files.push_back({file, library.kind, bytes, Crc32c(file), library.place});
        }
      }
    }
    return Status::Ok();
  }

  void AddInputs(std::uint32_t index, cli::RunOptions* run) const {
    const sim::SimJob& job = file_.workload.jobs[index];
    if (!Reads(job)) return;
    const std::string name = LibraryOf(index);
    const Library& library = libraries_.at(name);
    std::map<std::uint64_t, std::uint64_t> next;
    for (const sim::SimMap& map : job.maps) {
      const std::uint64_t parts = PartsOf(map.bytes), count = library.Count(parts, file_.live.block_size);
      const auto [at, first] = next.try_emplace(parts, 0);
      if (first && library.pool) at->second = sim::MixSeeds(file_.seed, index, parts) % count;
      run->inputs.push_back(options_.data + "/" + FileName(name, parts, at->second++ % count));
    }
  }

  cli::RunOptions MakeJob(std::uint32_t index) const {
    const sim::SimJob& job = file_.workload.jobs[index];
    const sim::LiveClass& of = ClassOf(index);
    cli::RunOptions run;
    run.name = job.name, run.user = job.user, run.pool = job.pool;
    run.priority = sched::kPriorityNames[static_cast<std::size_t>(job.priority)];
    run.output = options_.outputs + "/" + std::to_string(index);
    run.reducers = static_cast<std::int64_t>(job.reduces.size());
    if (job.deadline > 0) run.deadline = Seconds(static_cast<double>(std::max<Micros>(job.deadline, kMillisecond)));
    if (job.map_time >= kMillisecond) run.map_time = Seconds(static_cast<double>(job.map_time));
    if (job.reduce_time >= kMillisecond) run.reduce_time = Seconds(static_cast<double>(job.reduce_time));
    for (const Micros wait : job.locality_waits) {
      run.locality_wait += (run.locality_wait.empty() ? "" : ",") + Seconds(static_cast<double>(wait));
    }
    run.parameters = {"job.pack=0", Option("job.slow_start", std::to_string(job.slow_start)),
                      Option("job.max_attempts", std::to_string(std::min(job.max_attempts, 100U)))};
    if (!options_.speculates) run.parameters.emplace_back("job.speculation=false");
    AddInputs(index, &run);
    if (of.program.empty()) {
      Reads(job) ? AddLoad(job, &run) : AddSleep(job, &run);
    } else {
      const bool beside = of.program.find('/') != std::string::npos && !of.program.starts_with('/');
      run.job = beside ? options_.directory + of.program : of.program;
    }
    for (const auto& [name, value] : of.options) run.parameters.push_back(Option(name, value));
    return run;
  }

  static void AddSleep(const sim::SimJob& job, cli::RunOptions* run) {
    run->job = "sleep";
    run->parameters.push_back(Option("input.maps", std::to_string(std::max<std::size_t>(job.maps.size(), 1))));
    run->parameters.push_back(Option("sleep.map_time", Seconds(MeanTime(job.maps))));
    run->parameters.push_back(Option("sleep.reduce_time", Seconds(MeanTime(job.reduces))));
  }

  void AddLoad(const sim::SimJob& job, cli::RunOptions* run) const {
    run->job = "loadgen";
    const double read = Sum(job.maps, [&](const sim::SimMap& map) {
      return PartsOf(map.bytes) * (file_.live.block_size / kParts);  // what its file has
    });
    const double shuffled = Sum(job.maps, [](const sim::SimMap& map) { return map.output; });
    const double written = Sum(job.reduces, [](const sim::SimReduce& reduce) { return reduce.output; });
    const auto keep = [run](const char* name, double part, double of) {
      const double percent = of > 0 ? std::min(100 * part / of, kMostKept) : 0;
      run->parameters.push_back(Option(name, std::to_string(percent)));
    };
    keep("loadgen.keep_map", shuffled, read);
    keep("loadgen.keep_reduce", written, shuffled);
    Spend("map", job.map_cores, MeanTime(job.maps), read / static_cast<double>(job.maps.size()), run);
    if (job.reduces.empty()) return;
    Spend("reduce", job.reduce_cores, MeanTime(job.reduces), shuffled / static_cast<double>(job.reduces.size()), run);
  }

  // Has the tasks of a kind take the time: by work on each record, or by sleeping if they need no cores or have no
  // records.
  void Spend(const std::string& kind, double cores, double micros, double bytes, cli::RunOptions* run) const {
    const double records = bytes / static_cast<double>(kLine);
    if (cores <= 0 || records < 1) {
      run->parameters.push_back(Option("loadgen." + kind + "_time", Seconds(micros)));
      return;
    }
    const double each = std::max(0.0, micros / 1e6 / records - options_.record_seconds);
    const double rounds = std::min(std::round(each / options_.round_seconds), kMostWork);
    run->parameters.push_back(Option("loadgen." + kind + "_work", std::to_string(static_cast<std::int64_t>(rounds))));
  }

  const sim::SimulationFile& file_;
  const LiveJobsOptions& options_;
  std::map<std::string, Library> libraries_;
  LiveJobs made_;
};

}  // namespace

bool KeepOneOfEachProgram(sim::SimulationFile* file) {
  std::vector<sim::SimJob> jobs;
  std::vector<std::uint32_t> class_of;
  std::set<std::uint32_t> seen;
  for (std::size_t job = 0; job < file->workload.jobs.size(); ++job) {
    const std::uint32_t of = file->live.class_of[job];
    if (file->live.classes[of].program.empty() || !seen.insert(of).second) continue;
    sim::SimJob& kept = jobs.emplace_back(std::move(file->workload.jobs[job]));
    kept.submit = 0, kept.after.reset();
    if (jobs.size() > 1) kept.after = static_cast<std::uint32_t>(jobs.size() - 2);
    class_of.push_back(of);
  }
  file->workload.jobs = std::move(jobs), file->live.class_of = std::move(class_of);
  return !file->workload.jobs.empty();
}

Result<LiveJobs> MakeLiveJobs(const sim::SimulationFile& file, const LiveJobsOptions& options) {
  return Maker(file, options).Make();
}

}  // namespace millrace::compare
