// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/stream_attempts.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/api/bind_job.h"
#include "client/streaming/aggregate.h"
#include "client/streaming/inputs.h"
#include "client/streaming/map_output.h"
#include "client/streaming/record_codec.h"
#include "client/streaming/typed_bytes.h"
#include "worker/task/run/groups.h"

namespace millrace::streaming {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kMostCombined = std::size_t{64} << 20;
constexpr std::string_view kAggregate = "aggregate";
constexpr const char* kGroup = "streaming";
constexpr const char* kUnread = "inputs_not_read_to_the_end";

// Cuts what comes into records for a sink; with a text of the failure for its child.
RecordCutter CutterFor(Io io, RecordSink& sink) {
  return RecordCutter(
      io, [&sink](std::string_view line) { sink.Line(line); },
      [&sink](std::string_view key, std::string_view value) { sink.Pair(key, value); });
}

// The children of a map, one after the other, and what they write.
class MapStream {
 public:
  MapStream(const ProcessFacts& facts, const InputForms& forms, MapAttempt& attempt)
      : facts_(facts),
        forms_(forms),
        attempt_(attempt),
        settings_(SettingsOf(attempt.context.options())),
        unread_(attempt.context.counter(kGroup, kUnread)) {}

  Status Run() {
    MILLRACE_TRY(MakeSink());
    for (std::size_t i = 0; i < attempt_.inputs.size(); ++i) MILLRACE_TRY(MapInput(i));
    // A program that counts its lines says 0 of an input that has none.
    if (!any_child_ && !settings_.mapper.empty()) {
      MILLRACE_TRY(StartChild(ChildInput{}));
      MILLRACE_TRY(FinishChild(""));
    }
    attempt_.context.Enter(Hook::kNone);
    return Finish();
  }

 private:
  Status MakeSink() {
    MILLRACE_ASSIGN(directory_, MakeChildDirectory(attempt_.context, facts_));
    if (attempt_.output != nullptr) {
      sink_ = &output_.emplace(*attempt_.output, attempt_.random, settings_, settings_.map_output);
      return Status::Ok();
    }
    std::size_t combined = 0;
    if (!settings_.combiner.empty()) {
      combined = std::min<std::size_t>(kMostCombined, attempt_.collector.memory / 2);
      attempt_.collector.memory -= combined;
    }
    sink_ = &shuffle_.emplace(attempt_.collector, settings_);
    if (combined > 0) {
      sink_ = &combine_.emplace(settings_, combined,
                                [this](const std::vector<CombineSink::Record>& records) { return Combine(records); });
    }
    return Status::Ok();
  }

  Status Combine(const std::vector<CombineSink::Record>& records) {
    TaskContext& context = attempt_.context;
    RecordCutter cutter = CutterFor(settings_.io, *shuffle_);
    AttemptChild child(context, {"combiner", settings_.combiner, settings_.failure_counts});
    MILLRACE_TRY(child.Start(directory_, EnvironmentOf(context, settings_, directory_, nullptr),
                             [&cutter](std::string_view bytes) { cutter.Take(bytes); }));
    std::string chunk;
    for (const CombineSink::Record& record : records) {
      AppendRecord(settings_.io, record.key, settings_.reduce_input_separator, record.value, &chunk);
      if (chunk.size() < kChunk) continue;
      MILLRACE_TRY(child.Give(chunk));
      chunk.clear();
    }
    MILLRACE_TRY(child.Give(chunk));
    MILLRACE_TRY(child.Finish(""));
    context.counter(kGroup, "combine_input_records").Add(static_cast<std::int64_t>(records.size()));
    const Status records_end = cutter.Finish();
    return records_end.ok() ? records_end : child.Failure(records_end.message(), "");
  }

  Status StartChild(const ChildInput& input) {
    any_child_ = true;
    cutter_.emplace(CutterFor(settings_.io, *sink_));
    child_ = std::make_unique<AttemptChild>(attempt_.context,
                                            AttemptChild::Role{"mapper", settings_.mapper, settings_.failure_counts});
    return child_->Start(directory_,
                         EnvironmentOf(attempt_.context, settings_, directory_, input.path.empty() ? nullptr : &input),
                         [this](std::string_view bytes) { cutter_->Take(bytes); });
  }

  Status FinishChild(const std::string& place) {
    MILLRACE_TRY(child_->Finish(place));
    if (child_->left() > 0) ++unread_;
    const Status records_end = cutter_->Finish();
    return records_end.ok() ? records_end : child_->Failure("failed: " + records_end.message(), place);
  }

  // Gives a piece of the input to the child or, if there is no mapper, to the sink as records.
  Status Give(std::string_view bytes) {
    if (child_ != nullptr) return child_->Give(bytes);
    cutter_->Take(bytes);
    return Status::Ok();
  }

  Status MapInput(std::size_t i) {
    const millrace::MapInput& input = attempt_.inputs[i];
    const std::string path = input.split.name;
    if (settings_.mapper.empty()) {
      cutter_.emplace(CutterFor(settings_.io, *sink_));
    } else {
      MILLRACE_TRY(StartChild({path, input.name, input.index, input.split.offset, input.split.length}));
    }
    std::uint64_t end = input.split.offset;
    Status given;
    const auto give = [&](std::string_view bytes, std::uint64_t up_to) {
      if (given.ok()) given = Give(bytes);
      const std::uint64_t left = child_ == nullptr ? 0 : child_->left();
      if (left == 0) end = up_to;
      if (!given.ok() || left > 0) throw EnoughRead();
    };
    MILLRACE_TRY(Read(i, give));
    MILLRACE_TRY(given);
    if (child_ == nullptr) return cutter_->Finish();
    return FinishChild((child_->left() > 0 ? "; it stopped reading " + Quote(path) + " after byte "
                                           : "; it had been given " + Quote(path) + " up to byte ") +
                       std::to_string(end));
  }

  Status Read(std::size_t i, const std::function<void(std::string_view, std::uint64_t)>& give) {
    const InputForm form = FormOf(forms_, attempt_.inputs[i].index);
    if (form == InputForm::kTables) return Invalid("tables are for jobs with stream.io=frames");
    if (form == InputForm::kFiles) {
      Counter& files = attempt_.context.counter("millrace", "map_input_records");
      std::int64_t pieces = 0;
      const Status read = ReadInput<FilePieces>(attempt_, i, [&](std::string_view piece, std::uint64_t offset) {
        ++pieces;
        give(piece, offset + piece.size());
      });
      files.Add(1 - pieces);
      return read;
    }
    std::string chunk, full;
    std::uint64_t end = attempt_.inputs[i].split.offset;
    const auto flush = [&] {
      if (chunk.empty()) return;
      full.swap(chunk);  // before `give`, which may throw
      chunk.clear();
      give(full, end);
    };
    const auto added = [&](std::uint64_t up_to) {
      end = up_to;
      if (chunk.size() >= kChunk) flush();
    };
    Status read;
    if (form == InputForm::kRecords) {
      read = ReadInput<RecordFiles>(attempt_, i, [&](const KeyValue& record, std::uint64_t offset) {
        AppendRecord(settings_.io, record.key, settings_.map_input_separator, record.value, &chunk);
        added(offset);
      });
    } else if (settings_.io == Io::kText && !settings_.offset_as_key) {
      Counter& lines = attempt_.context.counter("millrace", "map_input_records");
      read = ReadInput<TextChunks>(attempt_, i, [&](std::string_view bytes, std::uint64_t offset) {
        // A chunk counts as one record already; so it does if its last line has no \n.
        lines.Add(std::count(bytes.begin(), bytes.end() - 1, '\n'));
        give(bytes, offset + bytes.size());
        if (!bytes.ends_with('\n')) give("\n", offset + bytes.size());
      });
    } else {
      read = ReadInput<TextLines>(attempt_, i, [&](std::string_view line, std::uint64_t offset) {
        AppendLine(line, offset, &chunk);
        added(offset + line.size());
      });
    }
    MILLRACE_TRY(read);
    try {
      flush();
    } catch (const EnoughRead&) {
    }
    return Status::Ok();
  }

  void AppendLine(std::string_view line, std::uint64_t offset, std::string* chunk) {
    if (settings_.io == Io::kTypedBytes) {
      AppendTypedInteger(static_cast<std::int64_t>(offset), chunk);
      AppendTypedText(line, chunk);
    } else {
      AppendRecord(settings_.io, std::to_string(offset), settings_.map_input_separator, line, chunk);
    }
  }

  Status Finish() {
    if (combine_) MILLRACE_TRY(combine_->Flush());
    if (output_) return output_->Finish();
    MILLRACE_TRY(shuffle_->Finish());
    attempt_.figures = shuffle_->figures();
    internal::CountMapOutput(attempt_.context, attempt_.figures, false);
    return Status::Ok();
  }

  const ProcessFacts& facts_;
  const InputForms& forms_;
  MapAttempt& attempt_;
  const Settings settings_;
  Counter& unread_;
  std::string directory_;
  std::optional<OutputSink> output_;
  std::optional<ShuffleSink> shuffle_;
  std::optional<CombineSink> combine_;
  RecordSink* sink_ = nullptr;
  std::optional<RecordCutter> cutter_;
  std::unique_ptr<AttemptChild> child_;
  bool any_child_ = false;
};

// Gives the records of a reduce, in order, to take(key, value), which returns whether it wants more.
template <class Take>
Status EachRecord(ReduceAttempt& attempt, const Settings& settings, const Take& take) {
  const SortKey order(settings.sort, settings.key_separator);
  reduce::Groups groups(attempt.segments.Cursors());
  const GroupPlace::Watch<std::string_view> watch(attempt.place, groups);
  groups.CountIn(attempt.context.values_taken());
  while (groups.NextGroup()) {
    MILLRACE_ASSIGN(const std::string_view key, order.Decode(groups.key()));
    std::string_view value;
    while (groups.NextValue(&value)) {
      MILLRACE_ASSIGN(const bool more, take(key, value));
      if (!more) return Status::Ok();
    }
    if (groups.groups() % 256 == 0) attempt.context.SetOffset(groups.raw_bytes_consumed());
  }
  attempt.groups = groups.groups();
  return groups.status();
}

// The reducer that Hadoop Streaming has built in.
Status Aggregate(ReduceAttempt& attempt, const Settings& settings, OutputSink& sink) {
  Aggregation values;
  std::string last_key;
  bool any = false;
  const Status reduced =
      EachRecord(attempt, settings, [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (!any || key != last_key) {
          if (any) sink.Line(values.End());
          MILLRACE_TRY(values.Begin(key));
          last_key = key;
          any = true;
        }
        MILLRACE_TRY(values.Add(value));
        return attempt.output.status().ok();
      });
  MILLRACE_TRY(reduced);
  if (any) sink.Line(values.End());
  return sink.Finish();
}

// A job without a reducer: its output is the sorted records.
Status PassRecords(ReduceAttempt& attempt, const Settings& settings, OutputSink& sink) {
  std::string line;
  const Status passed =
      EachRecord(attempt, settings, [&](std::string_view key, std::string_view value) -> Result<bool> {
        if (settings.io != Io::kText) {
          sink.Pair(key, value);
        } else {
          line.assign(key).append(settings.reduce_output.separator).append(value);
          sink.Line(line);
        }
        return attempt.output.status().ok();
      });
  MILLRACE_TRY(passed);
  return sink.Finish();
}

Status RunReducer(const ProcessFacts& facts, ReduceAttempt& attempt, const Settings& settings, OutputSink& sink) {
  TaskContext& context = attempt.context;
  MILLRACE_ASSIGN(const std::string directory, MakeChildDirectory(context, facts));
  RecordCutter cutter = CutterFor(settings.io, sink);
  AttemptChild child(context, {"reducer", settings.reducer, settings.failure_counts});
  MILLRACE_TRY(child.Start(directory, EnvironmentOf(context, settings, directory, nullptr),
                           [&cutter](std::string_view bytes) { cutter.Take(bytes); }));
  std::string chunk, last_key;
  const Status given = EachRecord(attempt, settings, [&](std::string_view key, std::string_view value) -> Result<bool> {
    AppendRecord(settings.io, key, settings.reduce_input_separator, value, &chunk);
    if (chunk.size() < kChunk) return true;
    last_key = key;
    MILLRACE_TRY(child.Give(chunk));
    chunk.clear();
    return child.left() == 0 && attempt.output.status().ok();
  });
  MILLRACE_TRY(given);
  MILLRACE_TRY(child.Give(chunk));
  const std::string place =
      last_key.empty() ? "; it had been given all of its input" : "; it had been given keys beyond " + Quote(last_key);
  MILLRACE_TRY(child.Finish(place));
  if (child.left() > 0) ++context.counter(kGroup, kUnread);
  const Status records_end = cutter.Finish();
  if (!records_end.ok()) return child.Failure("failed: " + records_end.message(), place);
  return sink.Finish();
}

}  // namespace

Status StreamMap(const ProcessFacts& facts, const InputForms& forms, MapAttempt& attempt) {
  return MapStream(facts, forms, attempt).Run();
}

Status StreamReduce(const ProcessFacts& facts, ReduceAttempt& attempt) {
  const Settings settings = SettingsOf(attempt.context.options());
  attempt.context.Enter(Hook::kReduce);
  OutputSink sink(attempt.output, attempt.random, settings, settings.reduce_output);
  if (settings.reducer.empty()) return PassRecords(attempt, settings, sink);
  if (settings.reducer == kAggregate && settings.io == Io::kText) return Aggregate(attempt, settings, sink);
  return RunReducer(facts, attempt, settings, sink);
}

}  // namespace millrace::streaming
