// SPDX-License-Identifier: Apache-2.0
// BindJob makes a JobBinding from a job struct. The loops over records are here, instantiated with the job's types.
// Thread rule: the task's thread.
#pragma once

#include <memory>
#include <utility>

#include "client/api/job_traits.h"
#include "client/api/map_records.h"
#include "client/api/value_lines.h"
#include "client/job/attempt.h"

namespace millrace::internal {

[[nodiscard]] Status BadBytes(const char* what, const TaskContext& context);
[[nodiscard]] Status ValuesTakenTwice();
void CountMapOutput(TaskContext& context, const map::CollectorFigures& figures, bool combines);

// Makes the emitter to the job's output.
template <class Emit, class Writer>
Emit MakeEmit(Writer& writer, [[maybe_unused]] OutputFiles& files, [[maybe_unused]] const Random& random) {
  if constexpr (requires { Emit(writer, files, random); }) {
    return Emit(writer, files, random);
  } else {
    return Emit(writer);
  }
}

template <class Emit, class Writer>
Status FinishOutput(Emit& emit, Writer& writer, const OutputFiles& files) {
  if constexpr (requires { emit.Finish(); }) emit.Finish();
  writer.Finish();
  return files.status();
}

// Maps the records straight to the job's output: the emitter uses the output's writer.
template <class J, class Emit>
Status MapToOutput(J& job, MapAttempt& attempt) {
  typename OutputOf<J>::Writer writer(attempt.output->part(), attempt.random);
  auto emit = MakeEmit<Emit>(writer, *attempt.output, attempt.random);
  if constexpr (HasMappers<J>) {
    MapperSet<J> mappers(attempt);
    MILLRACE_TRY(mappers.Start());
    MILLRACE_TRY(mappers.Map(emit));
  } else {
    MILLRACE_TRY(MapRecords(job, emit, attempt, 0, attempt.inputs.size()));
    attempt.context.Enter(Hook::kFinishMap);
    if constexpr (FinishesMap<J, Emit>) job.FinishMap(emit);
  }
  attempt.context.Enter(Hook::kNone);
  return FinishOutput(emit, writer, *attempt.output);
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
      KeyRanges ranges;
      if constexpr (OrdersTotally<J>) {
        MILLRACE_ASSIGN(ranges, TotalOrder::Ranges(attempt.context.options(), attempt.collector.partitions));
      }
      MapEmitterOf<J> emit(attempt.collector, *job, &ranges);
      if constexpr (HasMappers<J>) {
        MapperSet<J> mappers(attempt);
        MILLRACE_TRY(mappers.Start());
        MILLRACE_TRY(mappers.Map(emit));
      } else {
        MILLRACE_TRY(MapRecords(*job, emit, attempt, 0, attempt.inputs.size()));
        attempt.context.Enter(Hook::kFinishMap);
        if constexpr (FinishesMap<J, MapEmitterOf<J>>) job->FinishMap(emit);
      }
      attempt.context.Enter(Combines<J> ? Hook::kCombine : Hook::kNone);
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

// Reduces a key of a job without Reduce: emits the combined value if the job has Combine, else every value of the key.
template <class J, class Emit>
ValuesFault ReduceByDefault(const typename J::Key& key, reduce::Groups& records, Emit& emit) {
  std::string_view bytes;
  typename J::Value value{};
  if constexpr (Combines<J>) {
    typename J::Value sum{};
    bool first = true;
    while (records.NextValue(&bytes)) {
      if (!ValueBytes<typename J::Value>::Decode(bytes, &value)) return ValuesFault::kBadBytes;
      sum = first ? value : J::Combine(sum, value);
      first = false;
    }
    emit(key, sum);
  } else {
    while (records.NextValue(&bytes)) {
      if (!ValueBytes<typename J::Value>::Decode(bytes, &value)) return ValuesFault::kBadBytes;
      emit(key, value);
    }
  }
  return ValuesFault::kNone;
}

// Calls Reduce for each key, or each group of keys.
template <HasIntermediate J, class Records, class Emit>
Status ReduceEach(J& job, Records& records, bool at_segments, ReduceAttempt& attempt, Emit& emit) {
  const OutputFile& part = attempt.output.part();
  const auto writes = [&] {
    if constexpr (HasOutputs<J>) return attempt.output.status().ok();
    return part.status().ok();
  };
  while (writes() && records.NextGroup()) {
    ValuesFault fault = ValuesFault::kNone;
    if constexpr (HasGroup<J>) {
      ValuesOf<J> values(records, attempt.lent_values);
      job.Reduce(records.first(), values, emit);
      fault = values.fault();
      if (!records.decodes()) break;
    } else {
      typename J::Key key{};
      std::string_view bytes = records.key();
      if constexpr (Reduces<J>) bytes = LendBytes<typename J::Key>(attempt.lent_keys, bytes);
      if (!Codec<typename J::Key>::Decode(bytes, &key)) return BadBytes("key", attempt.context);
      if constexpr (Reduces<J>) {
        ValuesOf<J> values(records, attempt.lent_values);
        job.Reduce(key, values, emit);
        fault = values.fault();
      } else {
        fault = ReduceByDefault<J>(key, records, emit);
      }
    }
    if (fault != ValuesFault::kNone) [[unlikely]]
      return fault == ValuesFault::kBadBytes ? BadBytes("value", attempt.context) : ValuesTakenTwice();
    if (at_segments && records.groups() % 256 == 0) attempt.context.SetOffset(records.raw_bytes_consumed());
  }
  for (LentViews* const lent : {&attempt.lent_keys, &attempt.lent_values, &attempt.lent_value_keys}) lent->Recall();
  if constexpr (HasGroup<J>) {
    if (!records.decodes()) return BadBytes("key", attempt.context);
  }
  MILLRACE_TRY(records.status());
  attempt.groups = records.groups();
  return Status::Ok();
}

// Reduces the groups. If `at_segments`, the groups are read from the attempt's segments, and progress is measured by
// the bytes consumed of those segments.
template <HasIntermediate J>
Status ReduceGroups(J& job, reduce::Groups groups, bool at_segments, ReduceAttempt& attempt) {
  typename OutputOf<J>::Writer writer(attempt.output.part(), attempt.random);
  auto emit = MakeEmit<OutputEmitterOf<J>>(writer, attempt.output, attempt.random);
  const GroupPlace::Watch<typename J::Key> watch(attempt.place, groups);
  groups.CountIn(attempt.context.values_taken());
  attempt.context.Enter(Hook::kReduce);
  if constexpr (HasGroup<J>) {
    Grouping<J> grouping(groups, attempt.lent_keys, attempt.lent_value_keys);
    MILLRACE_TRY(ReduceEach(job, grouping, at_segments, attempt, emit));
  } else {
    MILLRACE_TRY(ReduceEach(job, groups, at_segments, attempt, emit));
  }
  attempt.context.Enter(Hook::kFinishReduce);
  if constexpr (FinishesReduce<J>) job.FinishReduce(emit);
  return FinishOutput(emit, writer, attempt.output);
}

// Reduces segments whose records are in any order: folds them into one sorted run, which has one value for each key,
// and reduces that run.
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
      collector.Emit(segment.key(), Held<typename J::Value>::Of(value));
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

template <class Input>
InputRules RulesOf() {
  return {Input::kSplitBy, Input::kRecordBytes, !ReadsStoredBytes<Input>, ReadsText<Input>};
}

template <class J>
JobBinding BindJob() {
  CheckJob<J>();
  JobBinding binding;
  binding.input = RulesOf<InputOf<J>>();
  if constexpr (HasMappers<J>) {
    ForEachMapper(static_cast<typename J::Mappers*>(nullptr),
                  [&]<class M>(M*) { binding.mappers.push_back(RulesOf<InputOf<M>>()); });
  }
  binding.has_reduce = Reduces<J> || Combines<J>;
  binding.combines = Combines<J>;
  binding.map_only = !HasIntermediate<J>;
  binding.total_order = OrdersTotally<J>;
  if constexpr (Prepares<J>) binding.prepare = J::Prepare;
  if constexpr (InputOf<J>::kSplitBy == SplitBy::kNumbers) binding.numbers = InputOf<J>::Range;
  binding.declare = []([[maybe_unused]] JobOptions& options) {
    if constexpr (InputOf<J>::kSplitBy == SplitBy::kNumbers) InputOf<J>::Declare(options);
    if constexpr (OrdersTotally<J>) TotalOrder::Declare(options);
    if constexpr (DeclaresOptions<J>) J::Options(options);
    if constexpr (HasMappers<J>) {
      ForEachMapper(static_cast<typename J::Mappers*>(nullptr), [&]<class M>(M*) {
        if constexpr (DeclaresOptions<M>) M::Options(options);
      });
    }
  };
  // A struct that is not a job has failed its static_assert by now; this saves pages of template errors.
  if constexpr (Job<J>) {
    binding.map = RunMap<J>;
    binding.reduce = RunReduce<J>;
    binding.not_in_lines = NotInLines<J>();
    if constexpr (HasIntermediate<J>) binding.value_lines = ValueLinesOf<J>();
  }
  return binding;
}

}  // namespace millrace::internal
