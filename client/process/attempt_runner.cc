// SPDX-License-Identifier: Apache-2.0
#include "client/process/attempt_runner.h"

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "client/format/opened_source.h"
#include "client/job/output_files.h"
#include "client/job/segments.h"
#include "client/process/crash_report.h"
#include "client/process/dfs_source.h"
#include "client/process/memory_limit.h"
#include "client/process/place.h"

namespace millrace {
namespace {

// Returns the exception's text, cut so that a message has room for what comes after it.
std::string TextOf(const std::exception& e) {
  constexpr std::size_t kMost = 2048;
  std::string text = e.what();
  if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
  return text;
}

// Exceptions of user code end here. `place` is asked after a throw.
Status Guarded(const std::function<Status()>& run, const Place& place) {
  const auto what = [&place] {
    const std::string_view hook = ToString(place.hook());
    return hook.empty() ? std::string("the task") : "the job's " + std::string(hook);
  };
  try {
    return run();
  } catch (const std::bad_alloc& e) {
    const std::optional<std::uint64_t> limit = MemoryLimit();
    return Invalid(what() +
                   (limit ? " ran out of its memory: limit " + FormatBytes(*limit) + " (task.memory_limit)"
                          : std::string(" threw an exception: ") + e.what()) +
                   place.Text());
  } catch (const std::exception& e) {
    return Invalid(what() + " threw an exception: " + TextOf(e) + place.Text());
  } catch (...) {
    return Invalid(what() + " threw something that is not a std::exception" + place.Text());
  }
}

// An output file of an attempt, such as "part-r-00003". It is created when the first bytes come.
class PartFile {
 public:
  PartFile(const SetUp& set_up, const JobOptions& options, const AttemptId& attempt, Storage& storage, std::string name)
      : storage_(storage), attempt_(ToText(attempt)), name_(std::move(name)) {
    path_ = set_up.output_directory + "/_temporary/" + attempt_ + "/" + name_;
    const EngineOptions& engine = options.engine();
    options_.replication =
        set_up.replication != 0 ? set_up.replication : static_cast<std::uint32_t>(engine.output_replication);
    options_.block_size = set_up.block_size != 0 ? set_up.block_size : engine.output_block_size;
  }

  Status Write(std::string_view bytes) {
    MILLRACE_TRY(Create());
    return writer_->Write(bytes);
  }
  Status HandOver() {
    MILLRACE_TRY(Create());
    MILLRACE_ASSIGN(handed_, writer_->HandOver(attempt_));
    return Status::Ok();
  }
  // Returns what was handed over.
  [[nodiscard]] TaskOutput Take() { return {name_, std::move(handed_)}; }

 private:
  Status Create() {
    if (writer_ != nullptr) return Status::Ok();
    MILLRACE_ASSIGN(dfs::DfsClient * client, storage_.Client());
    MILLRACE_ASSIGN(writer_, client->Create(path_, options_));
    return Status::Ok();
  }

  Storage& storage_;
  std::string attempt_, name_, path_;
  dfs::WriteOptions options_;
  std::unique_ptr<dfs::FileWriter> writer_;
  dfs::FileWriter::HandedOver handed_;
};

// The output files of an attempt in the file system.
class AttemptFiles {
 public:
  AttemptFiles(const SetUp& set_up, const JobOptions& options, const AttemptId& attempt, Storage& storage)
      : files_(attempt.task, [this, &set_up, &options, attempt, &storage](const std::string& name) {
          PartFile& part = parts_.emplace_back(set_up, options, attempt, storage, name);
          return std::make_unique<OutputFile>([&part](std::string_view bytes) { return part.Write(bytes); },
                                              [&part] { return part.HandOver(); });
        }) {}
  AttemptFiles(const AttemptFiles&) = delete;
  AttemptFiles& operator=(const AttemptFiles&) = delete;

  [[nodiscard]] OutputFiles& files() { return files_; }
  // Hands the files over. Returns them, the part file first.
  Result<std::vector<TaskOutput>> Finish(TaskContext& context) {
    MILLRACE_TRY(files_.Finish());
    files_.Count(context);
    std::vector<TaskOutput> outputs;
    for (PartFile& part : parts_) outputs.push_back(part.Take());
    return outputs;
  }

 private:
  std::deque<PartFile> parts_;  // the first one is the part file
  OutputFiles files_;
};

// Files that are compressed are opened where the rules of their INPUT say so.
Result<std::vector<MapInput>> OpenInputs(const MapLaunch& launch, const JobBinding& binding, Storage& storage,
                                         TaskContext& context) {
  Counter& local = context.counter("millrace", "bytes_read_local");
  Counter& remote = context.counter("millrace", "bytes_read_remote");
  Counter& wait = context.counter("millrace", "remote_read_micros");
  std::vector<MapInput> inputs;
  std::uint64_t total = 0;
  for (const InputPiece& piece : launch.inputs) {
    Split split{piece.path, piece.offset, piece.length, piece.file_length};
    std::unique_ptr<ByteSource> source =
        std::make_unique<DfsSource>(storage, piece.path, piece.file_length, piece.blocks, local, remote, wait);
    if (!binding.mappers.empty() && piece.input >= binding.mappers.size()) {
      return Invalid("the map reads INPUT " + std::to_string(piece.input + 1) + ", and the job has " +
                     std::to_string(binding.mappers.size()) + " mappers; name one INPUT for each mapper");
    }
    if (context.options().engine().decompress && binding.RulesOf(piece.input).decompresses) {
      source = std::make_unique<OpenedSource>(std::move(source), split, binding.RulesOf(piece.input).kind(),
                                              [&context](std::uint64_t bytes) { context.SetTaken(bytes); });
    }
    inputs.push_back({std::move(split), piece.name, piece.input, std::move(source)});
    total += piece.length;
  }
  context.SetTotal(total);
  return inputs;
}

}  // namespace

std::function<bool(std::string_view, std::uint64_t)> AttemptRunner::ChooserFor(const MapLaunch& launch,
                                                                               const EngineOptions& engine) {
  if (engine.map_compress != "auto" || !compress_choice_.Begin(launch.link, run::CoreShare())) return nullptr;
  return [this](std::string_view first_records, std::uint64_t bytes) {
    return compress_choice_.Choose(first_records, bytes);
  };
}

Status AttemptRunner::MapTo(const MapLaunch& launch, TaskContext& context, OutputFiles* output) {
  const EngineOptions& engine = context.options().engine();
  MILLRACE_ASSIGN(std::vector<MapInput> inputs, OpenInputs(launch, binding_, storage_, context));
  MapAttempt attempt{context, inputs, {}, nullptr, Random(random_.Next()), nullptr, {}};
  std::optional<RecordWatch> watch;
  if (engine.skip_bad_records > 0 && !launch.record_note.empty()) {
    MILLRACE_ASSIGN(RecordWatch made, RecordWatch::Make(launch.record_note, launch.left_out));
    attempt.watch = &watch.emplace(std::move(made));
  }
  if (set_up_.reduces > 0) {
    attempt.collector = {set_up_.reduces,
                         context.facts().memory,
                         launch.run_file,
                         launch.scratch,
                         engine.map_compress == "zstd",
                         ChooserFor(launch, engine),
                         binding_.combines,
                         last_map_keys_};
    attempt.collector.emitted = &context.emitted();
  } else {
    output->CountIn(context.emitted());
    attempt.output = output;
  }
  const MapPlace place(attempt, binding_.input.split_by);
  const CrashPlace crash_place(place);
  MILLRACE_TRY(Guarded([&] { return binding_.map(attempt); }, place));
  last_map_keys_ = attempt.figures.output_records;
  return Status::Ok();
}

Result<std::vector<TaskOutput>> AttemptRunner::Map(const MapLaunch& launch, TaskContext& context) {
  if (set_up_.reduces > 0) {
    MILLRACE_TRY(MapTo(launch, context, nullptr));
    return std::vector<TaskOutput>();
  }
  AttemptFiles output(set_up_, context.options(), launch.attempt, storage_);
  MILLRACE_TRY(MapTo(launch, context, &output.files()));
  return output.Finish(context);
}

Result<std::vector<TaskOutput>> AttemptRunner::Reduce(const ReduceLaunch& launch, TaskContext& context) {
  MILLRACE_ASSIGN(const MappedSegments segments, MappedSegments::Open(launch.segments));
  context.SetTotal(segments.raw_bytes());
  AttemptFiles output(set_up_, context.options(), launch.attempt, storage_);
  output.files().CountIn(context.emitted());
  ReduceAttempt attempt{context, segments, context.facts().memory, output.files(), Random(random_.Next())};
  const ReducePlace place(attempt);
  const CrashPlace crash_place(place);
  MILLRACE_TRY(Guarded([&] { return binding_.reduce(attempt); }, place));
  context.counter("millrace", "reduce_input_records").Set(static_cast<std::int64_t>(segments.records()));
  context.counter("millrace", "reduce_input_groups").Set(static_cast<std::int64_t>(attempt.groups));
  return output.Finish(context);
}

}  // namespace millrace
