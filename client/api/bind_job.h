// BindJob makes a JobBinding of a job struct. The loops over records are here, instantiated with the job's types.
// Thread rule: the task's thread.
#pragma once

#include <memory>
#include <utility>

#include "client/api/job_traits.h"
#include "client/job/attempt.h"

namespace millrace::internal {

[[nodiscard]] Status BadBytes(const char* what, const TaskContext& context);
void LeaveOutRecord(TaskContext& context);
void CountMapOutput(TaskContext& context, const map::CollectorFigures& figures, bool combines);

template <class J>
std::unique_ptr<J> MakeJob(TaskContext& context) {
  context.Enter(Hook::kConstructor);
  if constexpr (std::is_constructible_v<J, TaskContext&>) {
    return std::make_unique<J>(context);
  } else {
    return std::make_unique<J>();
  }
}

template <class J>
Status StartJob([[maybe_unused]] J& job, [[maybe_unused]] TaskContext& context) {
  context.Enter(Hook::kStart);
  if constexpr (Starts<J>) return job.Start(context);
  return Status::Ok();
}

template <class J, class Emit>
Status MapRecords(J& job, Emit& emit, MapAttempt& attempt) {
  TaskContext& context = attempt.context;
  Counter& records = context.counter("millrace", "map_input_records");
  Counter& bytes = context.counter("millrace", "map_input_bytes");
  const EngineOptions& engine = context.options().engine();
  RecordWatch* const watch = attempt.watch;
  context.Enter(Hook::kMap);
  for (std::size_t i = 0; i < attempt.inputs.size(); ++i) {
    MapInput& input = attempt.inputs[i];
    context.BeginInput({input.split.name, input.name, input.index}, i, input.split.offset);
    if (watch != nullptr) watch->BeginInput(static_cast<std::uint32_t>(i));
    const ReadOptions options{engine.strip_cr, engine.record_bytes, input.name};
    const auto on_record = [&](const auto& record, std::uint64_t offset) {
      context.SetOffset(offset);
      if (watch != nullptr && !watch->Begin(offset)) [[unlikely]]
        return LeaveOutRecord(context);
      ++records;
      job.Map(record, emit);
      if (watch != nullptr) watch->End();
    };
    MILLRACE_TRY(InputOf<J>::Read(*input.source, input.split, options, on_record));
    if constexpr (InputOf<J>::kSplitBy != SplitBy::kNumbers) bytes.Add(static_cast<std::int64_t>(input.split.length));
    context.EndInput(input.split.length);
    input.source.reset();
  }
  context.Enter(Hook::kFinishMap);
  if constexpr (FinishesMap<J, Emit>) job.FinishMap(emit);
  context.Enter(Combines<J> ? Hook::kCombine : Hook::kNone);
  return Status::Ok();
}

// Maps the records straight to the job's output: the emitter stands over the output's writer.
template <class J, class Emit>
Status MapToOutput(J& job, MapAttempt& attempt) {
  typename OutputOf<J>::Writer writer(*attempt.output, attempt.random);
  Emit emit(writer);
  MILLRACE_TRY(MapRecords(job, emit, attempt));
  writer.Finish();
  return attempt.output->status();
}

template <class J>
Status RunMap(MapAttempt& attempt) {
  const std::unique_ptr<J> job = MakeJob<J>(attempt.context);
  MILLRACE_TRY(StartJob(*job, attempt.context));
  if constexpr (!HasIntermediate<J>) {
    if (attempt.output == nullptr) return Invalid("the job has no Key and Value for reduces; run it with --reducers 0");
    return MapToOutput<J, MapEmitterOf<J>>(*job, attempt);
  } else {
    if (attempt.output == nullptr) {
      MapEmitterOf<J> emit(attempt.collector, *job);
      MILLRACE_TRY(MapRecords(*job, emit, attempt));
      MILLRACE_TRY(emit.Finish());
      attempt.figures = emit.figures();
      CountMapOutput(attempt.context, attempt.figures, Combines<J>);
      return Status::Ok();
    }
    using Direct = DirectEmitter<J, OutputOf<J>>;
    if constexpr (OutputOf<J>::template kTakes<typename J::Key, typename J::Value> && Maps<J, Direct>) {
      return MapToOutput<J, Direct>(*job, attempt);
    } else {
      return Invalid("what the job's Map emits cannot be written to its Output; run it with one reduce at least");
    }
  }
}

// Reduces for a job without Reduce: emits the combined value if the job has Combine, else all its records.
template <class J, class Emit>
void ReduceByDefault(const typename J::Key& key, Values<typename J::Value>& values, Emit& emit) {
  if constexpr (Combines<J>) {
    typename J::Value sum{};
    bool first = true;
    for (const auto& value : values) {
      sum = first ? value : J::Combine(sum, value);
      first = false;
    }
    emit(key, sum);
  } else {
    for (const auto& value : values) emit(key, value);
  }
}

// Reduces the groups. `at_segments` says that the groups are those of the attempt's segments: progress is then how much
// of them is consumed.
template <HasIntermediate J>
Status ReduceGroups(J& job, reduce::Groups groups, bool at_segments, ReduceAttempt& attempt) {
  typename OutputOf<J>::Writer writer(attempt.output, attempt.random);
  OutputEmitter<OutputOf<J>> emit(writer);
  const GroupPlace::Watch<typename J::Key> watch(attempt.place, groups);
  groups.CountIn(attempt.context.values_taken());
  attempt.context.Enter(Hook::kReduce);
  while (attempt.output.status().ok() && groups.NextGroup()) {
    typename J::Key key{};
    if (!Codec<typename J::Key>::Decode(groups.key(), &key)) return BadBytes("key", attempt.context);
    Values<typename J::Value> values(groups);
    if constexpr (Reduces<J>) {
      job.Reduce(key, values, emit);
    } else {
      ReduceByDefault<J>(key, values, emit);
    }
    if (!values.ok()) return BadBytes("value", attempt.context);
    if (at_segments && groups.groups() % 256 == 0) attempt.context.SetOffset(groups.raw_bytes_consumed());
  }
  MILLRACE_TRY(groups.status());
  attempt.groups = groups.groups();
  attempt.context.Enter(Hook::kFinishReduce);
  if constexpr (FinishesReduce<J>) job.FinishReduce(emit);
  writer.Finish();
  return attempt.output.status();
}

// Folds segments in any order into one sorted run, whose groups have one value each, and reduces that.
template <Combines J>
Status ReduceFolded(J& job, ReduceAttempt& attempt) {
  TaskContext& context = attempt.context;
  context.Enter(Hook::kCombine);
  const std::string folded = context.facts().scratch + "/folded.run";
  map::CollectorOptions options{1, attempt.memory, folded, context.facts().scratch};
  options.expected_keys = attempt.segments.most_records();
  options.from_runs = true;
  FoldCollector<J> collector(std::move(options));
  std::uint64_t bytes = 0, count = 0;
  for (run::SegmentCursor& segment : attempt.segments.Cursors()) {
    while (segment.Next()) {
      typename J::Value value{};
      if (!ValueBytes<typename J::Value>::Decode(segment.value(), &value)) return BadBytes("value", context);
      collector.Emit(segment.key(), value);
      if (++count % 4096 == 0) context.SetOffset(bytes + segment.raw_bytes_consumed());
    }
    MILLRACE_TRY(segment.status());
    bytes += segment.raw_bytes_consumed();
  }
  MILLRACE_TRY(collector.Finish());
  MILLRACE_ASSIGN(const MappedSegments run, MappedSegments::OpenRun(folded));
  return ReduceGroups(job, reduce::Groups(run.Cursors()), false, attempt);
}

template <class J>
Status RunReduce(ReduceAttempt& attempt) {
  if constexpr (HasIntermediate<J>) {
    const std::unique_ptr<J> job = MakeJob<J>(attempt.context);
    MILLRACE_TRY(StartJob(*job, attempt.context));
    if (!attempt.segments.by_key()) {
      if constexpr (Combines<J>) return ReduceFolded(*job, attempt);
      return Internal("segments in any order for a job that does not combine");
    }
    return ReduceGroups(*job, reduce::Groups(attempt.segments.Cursors()), true, attempt);
  } else {
    return Internal("a reduce of a job that has no Key and Value");
  }
}

template <class J>
JobBinding BindJob() {
  CheckJob<J>();
  JobBinding binding;
  binding.split_by = InputOf<J>::kSplitBy;
  binding.record_bytes = InputOf<J>::kRecordBytes;
  binding.has_reduce = Reduces<J> || Combines<J>;
  binding.combines = Combines<J>;
  binding.decompresses = !ReadsStoredBytes<InputOf<J>>;
  binding.map_only = !HasIntermediate<J>;
  if constexpr (Prepares<J>) binding.prepare = J::Prepare;
  if constexpr (InputOf<J>::kSplitBy == SplitBy::kNumbers) binding.numbers = InputOf<J>::Range;
  binding.declare = []([[maybe_unused]] JobOptions& options) {
    if constexpr (InputOf<J>::kSplitBy == SplitBy::kNumbers) InputOf<J>::Declare(options);
    if constexpr (DeclaresOptions<J>) J::Options(options);
  };
  // A struct that is no job has failed its static_assert by now; this saves pages of template errors.
  if constexpr (Job<J>) {
    binding.map = RunMap<J>;
    binding.reduce = RunReduce<J>;
  }
  return binding;
}

}  // namespace millrace::internal
