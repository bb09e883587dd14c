// SPDX-License-Identifier: Apache-2.0
// The loop over the records of a map, and the mappers of a job that has one for each INPUT. They are instantiated with
// the job's types.
// Thread rule: the task's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>

#include "client/api/job_traits.h"
#include "client/api/lending.h"
#include "client/format/byte_source.h"
#include "client/job/attempt.h"

namespace millrace::internal {

void LeaveOutRecord(TaskContext& context);

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

template <class Read>
Status UntilEnough(const Read& read) {
  try {
    return read();
  } catch (const EnoughRead&) {
    return Status::Ok();
  }
}

// The source of a map of numbers, which reads no bytes.
class NoBytes final : public ByteSource {
 public:
  Status Stream(std::uint64_t, std::uint64_t, const Sink&) override { return Status::Ok(); }
  Status ReadAt(std::uint64_t, std::uint64_t, std::string*) override { return Status::Ok(); }
};

// Maps the records of the map's inputs [begin, end). `job` is the job, or the mapper of these inputs.
template <class J, class Emit>
Status MapRecords(J& job, Emit& emit, MapAttempt& attempt, std::size_t begin, std::size_t end) {
  TaskContext& context = attempt.context;
  Counter& records = context.counter("millrace", "map_input_records");
  Counter& bytes = context.counter("millrace", "map_input_bytes");
  const EngineOptions& engine = context.options().engine();
  RecordWatch* const watch = attempt.watch;
  context.Enter(Hook::kMap);
  for (std::size_t i = begin; i < end; ++i) {
    MapInput& input = attempt.inputs[i];
    context.BeginInput({input.split.name, input.name, input.index}, i, input.split.offset);
    if (watch != nullptr) watch->BeginInput(static_cast<std::uint32_t>(i));
    const ReadOptions options{engine.strip_cr, engine.record_bytes, input.name};
    const auto on_record = [&](const auto& record, std::uint64_t offset) {
      context.SetOffset(offset);
      if (watch != nullptr && !watch->Begin(offset)) [[unlikely]]
        return LeaveOutRecord(context);
      ++records;
      const auto& lent = LendRecord(attempt, record);
      job.Map(lent, emit);
      if (watch != nullptr) watch->End();
    };
    NoBytes none;
    ByteSource& source = input.source == nullptr ? static_cast<ByteSource&>(none) : *input.source;
    MILLRACE_TRY(UntilEnough([&] { return InputOf<J>::Read(source, input.split, options, on_record); }));
    if constexpr (InputOf<J>::kSplitBy != SplitBy::kNumbers) bytes.Add(static_cast<std::int64_t>(input.split.length));
    context.EndInput(input.split.length);
    input.source.reset();
    attempt.lent.Recall();
    attempt.lent_too.Recall();
  }
  return Status::Ok();
}

// The mappers of a job in one map: one object for each INPUT that the map reads.
template <class J, class List = typename J::Mappers>
class MapperSet;
template <class J, class... Ms>
class MapperSet<J, Mappers<Ms...>> {
 public:
  // Requires: there is a mapper for the INPUT of each of the map's inputs.
  explicit MapperSet(MapAttempt& attempt) : attempt_(attempt) {}

  // Makes and starts the mappers that are needed.
  Status Start() {
    for (const MapInput& input : attempt_.inputs) {
      MILLRACE_TRY(With(input.index, [this](auto& mapper) {
        using M = typename std::remove_reference_t<decltype(mapper)>::element_type;
        if (mapper != nullptr) return Status::Ok();
        mapper = MakeJob<M>(attempt_.context);
        return StartJob(*mapper, attempt_.context);
      }));
    }
    return Status::Ok();
  }
  // Maps all records, in the order of the inputs, and then lets the mappers finish.
  template <class Emit>
  Status Map(Emit& emit) {
    for (std::size_t i = 0; i < attempt_.inputs.size(); ++i) {
      MILLRACE_TRY(
          With(attempt_.inputs[i].index, [&](auto& mapper) { return MapRecords(*mapper, emit, attempt_, i, i + 1); }));
    }
    attempt_.context.Enter(Hook::kFinishMap);
    std::apply([&](auto&... mappers) { (Finish(mappers.get(), emit), ...); }, mappers_);
    return Status::Ok();
  }

 private:
  template <class M, class Emit>
  static void Finish(M* mapper, Emit& emit) {
    if constexpr (FinishesMap<M, Emit>) {
      if (mapper != nullptr) mapper->FinishMap(emit);
    }
  }
  // Calls `use` with the mapper of an INPUT, and returns its status.
  template <class Use>
  Status With(std::size_t index, const Use& use) {
    Status status;
    std::size_t at = 0;
    const auto one = [&](auto& mapper) {
      if (at++ == index) status = use(mapper);
    };
    std::apply([&](auto&... mappers) { (one(mappers), ...); }, mappers_);
    return status;
  }

  MapAttempt& attempt_;
  std::tuple<std::unique_ptr<Ms>...> mappers_;
};

}  // namespace millrace::internal
