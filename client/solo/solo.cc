// SPDX-License-Identifier: Apache-2.0
#include "client/solo/solo.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"
#include "client/format/opened_source.h"
#include "client/job/key_sample.h"
#include "client/job/output_files.h"
#include "client/job/side_files.h"
#include "client/solo/local_input.h"
#include "client/solo/local_output.h"
#include "worker/task/collect/collector.h"

namespace millrace::solo {
namespace {

constexpr std::uint32_t kMostReduces = 1000;  // as `millrace run` has it
constexpr std::uint64_t kSeed = 1;            // so that a run in a debugger can be repeated

// The directory in which the output comes into being.
class OutputDirectory {
 public:
  static Result<OutputDirectory> Make(const std::string& output) {
    Result<LocalDirectory> made = LocalDirectory::Make(output);
    if (!made.ok()) return Status(made.status().code(), "the output " + made.status().message());
    return OutputDirectory(std::move(made).value());
  }

  [[nodiscard]] std::string PathOf(const std::string& name) const { return directory_.path() + "/" + name; }
  // Somebody may have taken the name meanwhile. What was computed stays.
  Status Commit() {
    MILLRACE_TRY(WriteFileDurably(PathOf("_SUCCESS"), ""));
    const Status committed = directory_.Commit();
    if (committed.ok()) return committed;
    return Status(committed.code(),
                  "the output cannot take its name, " + committed.message() + "; it is in " + Quote(directory_.Keep()));
  }

 private:
  explicit OutputDirectory(LocalDirectory directory) : directory_(std::move(directory)) {}
  LocalDirectory directory_;
};

class Job {
 public:
  Job(const JobBinding& binding, std::string name, const SoloRun& run, const JobOptions& options,
      std::vector<Piece> pieces, OutputDirectory& output, SideFiles& side_files, const TempDir& scratch)
      : binding_(binding),
        name_(std::move(name)),
        run_(run),
        options_(options),
        pieces_(std::move(pieces)),
        output_(output),
        side_files_(side_files),
        scratch_(scratch) {}

  Status RunMaps() {
    for (std::uint32_t i = 0; i < pieces_.size(); ++i) MILLRACE_TRY(RunTask({JobId{0}, TaskKind::kMap, i}));
    return Status::Ok();
  }
  Status RunReduces() {
    for (std::uint32_t i = 0; i < run_.reduces; ++i) MILLRACE_TRY(RunTask({JobId{0}, TaskKind::kReduce, i}));
    return output_.Commit();
  }
  // Returns what the maps left for the first reduce.
  Result<std::vector<RawRecord>> MapRecords() const {
    MILLRACE_ASSIGN(const MappedSegments segments, SegmentsOf(0));
    std::vector<RawRecord> records;
    for (run::SegmentCursor& segment : segments.Cursors()) {
      while (segment.Next()) records.emplace_back(segment.key(), segment.value());
      MILLRACE_TRY(segment.status());
    }
    std::ranges::stable_sort(records, {}, &RawRecord::first);
    return records;
  }
  // Has the first reduce find these records, as if the maps had left them.
  Status LeaveRecords(const std::vector<RawRecord>& records) const {
    map::SortCollector collector({1, options_.engine().task_memory, RunFile(0), scratch_.path()}, nullptr);
    for (const auto& [key, value] : records) collector.Emit(0, key, value);
    return collector.Finish();
  }

  [[nodiscard]] std::vector<CounterValue> Counters() const {
    std::vector<CounterValue> counters;
    for (const auto& [name, value] : counters_) counters.push_back({name.first, name.second, value});
    return counters;
  }

 private:
  Status RunTask(const TaskId& task) {
    TaskContext context({{task, 0},
                         name_,
                         static_cast<std::uint32_t>(pieces_.size()),
                         run_.reduces,
                         scratch_.path(),
                         options_.engine().task_memory},
                        options_, side_files_);
    const Status done = CallJob(context, [&] { return task.reduce() ? Reduce(task, context) : Map(task, context); });
    if (!done.ok()) return Status(done.code(), "task " + ToText(task) + ": " + done.message());
    for (const CounterValue& counter : context.counters().Snapshot())
      counters_[{counter.group, counter.name}] += counter.value;
    return Status::Ok();
  }

  Status Map(const TaskId& task, TaskContext& context) {
    const Piece& piece = pieces_[task.index];
    std::vector<MapInput> inputs(1);
    inputs[0].split = piece.split;
    inputs[0].name = piece.name;
    inputs[0].index = piece.index;
    if (binding_.input.split_by != SplitBy::kNumbers) {
      MILLRACE_ASSIGN(FileSource source, FileSource::Open(piece.split.name, piece.split.file_length));
      inputs[0].source = std::make_unique<FileSource>(std::move(source));
      if (binding_.RulesOf(piece.index).decompresses && options_.engine().decompress) {
        inputs[0].source = std::make_unique<OpenedSource>(std::move(inputs[0].source), piece.split,
                                                          binding_.RulesOf(piece.index).kind(),
                                                          [&context](std::uint64_t bytes) { context.SetTaken(bytes); });
      }
    }
    context.SetTotal(piece.split.length);
    MapAttempt attempt{context, inputs, {}, nullptr, Random(kSeed + task.index), nullptr, {}};
    if (run_.reduces == 0) {
      return Write(task, context, [&](OutputFiles& output) {
        attempt.output = &output;
        return binding_.map(attempt);
      });
    }
    attempt.collector = {run_.reduces, context.facts().memory, RunFile(task.index), scratch_.path(), false,
                         nullptr,      binding_.combines};
    return binding_.map(attempt);
  }

  Result<MappedSegments> SegmentsOf(std::uint32_t reduce) const {
    std::vector<ReduceSegment> segments;
    for (std::uint32_t map = 0; map < pieces_.size(); ++map) {
      MILLRACE_ASSIGN(const Fd fd, OpenFile(RunFile(map), O_RDONLY));
      MILLRACE_ASSIGN(const std::vector<run::SegmentInfo> index, run::ReadRunIndex(fd.get(), RunFile(map)));
      segments.push_back({RunFile(map), index.at(reduce)});
    }
    return MappedSegments::Open(segments);
  }

  Status Reduce(const TaskId& task, TaskContext& context) {
    MILLRACE_ASSIGN(const MappedSegments mapped, SegmentsOf(task.index));
    context.SetTotal(mapped.raw_bytes());
    return Write(task, context, [&](OutputFiles& output) {
      ReduceAttempt attempt{context, mapped, context.facts().memory, output, Random(kSeed + task.index)};
      return binding_.reduce(attempt);
    });
  }

  // Writes the task's files; its part file is there, if empty, also when nothing is written.
  Status Write(const TaskId& task, TaskContext& context, const std::function<Status(OutputFiles&)>& write) {
    OutputFiles output(task, [&](const std::string& name) { return MakeLocalOutput(output_.PathOf(name)); });
    MILLRACE_TRY(write(output));
    MILLRACE_TRY(output.Finish());
    output.Count(context);
    return Status::Ok();
  }

  [[nodiscard]] std::string RunFile(std::uint32_t map) const { return scratch_.path() + "/m" + std::to_string(map); }

  const JobBinding& binding_;
  const std::string name_;
  const SoloRun& run_;
  const JobOptions& options_;
  const std::vector<Piece> pieces_;
  OutputDirectory& output_;
  SideFiles& side_files_;
  const TempDir& scratch_;
  std::map<std::pair<std::string, std::string>, std::int64_t> counters_;
};

Result<std::vector<Piece>> Pieces(const JobBinding& binding, const JobOptions& options, const SoloRun& run) {
  if (binding.input.split_by == SplitBy::kNumbers) {
    if (!run.inputs.empty()) return Invalid("the job makes its own data; leave out the input " + Quote(run.inputs[0]));
    return PiecesOf(binding.numbers(options));
  }
  if (run.inputs.empty()) return Invalid("the job reads input, but none is given; give INPUT...");
  if (!binding.mappers.empty() && run.inputs.size() != binding.mappers.size()) {
    return Invalid("the job has " + std::to_string(binding.mappers.size()) + " mappers, one for each INPUT, and " +
                   std::to_string(run.inputs.size()) + " INPUTs are given; give as many, in the order of the mappers");
  }
  std::vector<Piece> pieces;
  for (std::uint32_t i = 0; i < run.inputs.size(); ++i) {
    const InputRules& rules = binding.RulesOf(i);
    MILLRACE_ASSIGN(std::vector<Piece> of_input,
                    PiecesOf(run.inputs[i], i, rules.split_by, rules.decompresses && options.engine().decompress,
                             run.split_length));
    std::ranges::move(of_input, std::back_inserter(pieces));
  }
  return pieces;
}

// Prepares the options, files and output of a job, and lets `steps` run its tasks. Without `reads_input` it has one map
// that reads nothing, and is not prepared.
Result<std::vector<CounterValue>> RunWith(const JobBinding& binding, const std::string& name, const SoloRun& run,
                                          bool reads_input, const std::function<Status(Job&)>& steps) {
  JobOptions options;
  binding.declare(options);
  for (const std::string& parameter : run.parameters) MILLRACE_TRY(options.SetPair(parameter));
  MILLRACE_TRY(options.Validate());
  if (binding.map_only && run.reduces > 0)
    return Invalid("the job has maps alone, so its number of reduces is 0, and not " + std::to_string(run.reduces));
  MILLRACE_ASSIGN(OutputDirectory output, OutputDirectory::Make(run.output));
  MILLRACE_ASSIGN(const TempDir scratch, TempDir::Make("millrace-solo-"));
  LocalInput files(run.files);
  SideFiles side_files(files, {scratch.path() + "/shared"});
  std::vector<Piece> pieces(1);
  if (reads_input) {
    Preparation preparation(files, run.inputs, run.reduces, options);
    if (binding.prepare) MILLRACE_TRY(binding.prepare(preparation));
    if (binding.total_order) MILLRACE_TRY(PrepareCuts(binding, preparation, side_files, scratch.path()));
    MILLRACE_TRY(options.Validate());
    MILLRACE_ASSIGN(pieces, Pieces(binding, options, run));
  }
  Job job(binding, name, run, options, std::move(pieces), output, side_files, scratch);
  MILLRACE_TRY(steps(job));
  return job.Counters();
}

}  // namespace

Result<SoloRun> ParseSoloRun(const std::vector<std::string>& words) {
  constexpr std::string_view kFile = "--file=";
  constexpr const char* kUsage = "give OUTPUT REDUCES [NAME=VALUE...] [--file=LOCAL=PATH...] -- [INPUT...]";
  if (words.size() < 2) return Invalid(kUsage);
  SoloRun run;
  run.output = words[0];
  const std::string& reduces = words[1];
  const auto [end, error] = std::from_chars(reduces.data(), reduces.data() + reduces.size(), run.reduces);
  if (error != std::errc() || end != reduces.data() + reduces.size() || run.reduces > kMostReduces)
    return Invalid("the number of reduces " + Quote(reduces) + " is not one of 0 to " + std::to_string(kMostReduces) +
                   "; " + kUsage);
  std::size_t i = 2;
  for (; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with(kFile)) {
      run.parameters.push_back(words[i]);
      continue;
    }
    const std::string pair = words[i].substr(kFile.size());
    const std::size_t equals = pair.rfind('=');
    if (equals == std::string::npos) return Invalid(Quote(words[i]) + " is not --file=LOCAL=PATH");
    run.files.emplace_back(pair.substr(equals + 1), pair.substr(0, equals));
  }
  if (i == words.size()) return Invalid(std::string("there is no -- before the input; ") + kUsage);
  run.inputs.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
  return run;
}

Result<std::vector<CounterValue>> RunSolo(const JobBinding& binding, const std::string& name, const SoloRun& run) {
  return RunWith(binding, name, run, true, [](Job& job) -> Status {
    MILLRACE_TRY(job.RunMaps());
    return job.RunReduces();
  });
}

Result<SoloMaps> RunSoloMaps(const JobBinding& binding, const std::string& name, SoloRun run) {
  if (binding.map_only) return Invalid("the job emits nothing for reduces");
  run.reduces = 1;
  SoloMaps maps;
  MILLRACE_ASSIGN(maps.counters, RunWith(binding, name, run, true, [&maps](Job& job) -> Status {
                    MILLRACE_TRY(job.RunMaps());
                    MILLRACE_ASSIGN(maps.records, job.MapRecords());
                    return Status::Ok();
                  }));
  return maps;
}

Result<std::vector<CounterValue>> RunSoloReduce(const JobBinding& binding, const std::string& name, SoloRun run,
                                                const std::vector<RawRecord>& records) {
  run.reduces = 1;
  return RunWith(binding, name, run, false, [&records](Job& job) -> Status {
    MILLRACE_TRY(job.LeaveRecords(records));
    return job.RunReduces();
  });
}

}  // namespace millrace::solo
