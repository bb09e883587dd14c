// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/frame_attempts.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "client/api/bind_job.h"
#include "client/api/named_outputs.h"
#include "client/api/partition.h"
#include "client/format/compression.h"
#include "client/streaming/inputs.h"
#include "client/streaming/map_output.h"
#include "worker/task/run/groups.h"

namespace millrace::streaming {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kBatch = std::size_t{1} << 20;
constexpr std::uint64_t kPart = std::uint64_t{4} << 20;  // of a range that a child asks for
constexpr std::uint32_t kSameKey = 0xffffffff;
constexpr std::size_t kMostTraceback = 20;

void Put32(std::uint64_t number, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(number >> shift));
}
std::string Little64(std::uint64_t number) {
  std::string out;
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(number >> shift));
  return out;
}

// Takes parts off the front of a payload.
class Payload {
 public:
  explicit Payload(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  bool Number(std::uint32_t* number) {
    if (bytes_.size() < 4) return false;
    *number = 0;
    for (std::size_t i = 0; i < 4; ++i) *number |= std::uint32_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    bytes_.remove_prefix(4);
    return true;
  }
  bool LongNumber(std::uint64_t* number) {
    std::uint32_t low = 0, high = 0;
    if (!Number(&low) || !Number(&high)) return false;
    *number = std::uint64_t{high} << 32 | low;
    return true;
  }
  bool Bytes(std::size_t size, std::string_view* bytes) {
    if (size > bytes_.size()) return false;
    *bytes = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }

 private:
  std::string_view bytes_;
};

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

// Returns the sentence of an X.
std::string FailureText(std::string_view payload) {
  const Json told = Json::parse(payload, nullptr, false);
  if (!told.is_object()) return "failed and said " + Quote(payload, 500);
  std::string text = TextOf(told, "type") + ": " + TextOf(told, "message");
  if (const std::string path = TextOf(told, "path"); !path.empty()) {
    text += "; at " + path;
    if (const auto offset = told.find("offset"); offset != told.end() && offset->is_number_unsigned())
      text += ", byte " + std::to_string(offset->get<std::uint64_t>());
  }
  if (const std::string record = TextOf(told, "record"); !record.empty()) text += "; the record: " + record;
  if (const auto lines = told.find("traceback"); lines != told.end() && lines->is_array()) {
    const std::size_t from = lines->size() > kMostTraceback ? lines->size() - kMostTraceback : 0;
    text += "; traceback:";
    for (std::size_t i = from; i < lines->size(); ++i) {
      if ((*lines)[i].is_string()) text += " | " + (*lines)[i].get<std::string>();
    }
  }
  return Printable(text);
}

// A range of an input, as a child asks for it.
struct AskedRange {
  std::uint64_t offset = 0, length = 0;
};

// An attempt as the child sees it: what it sends ends here.
class Exchange {
 public:
  // One of `collector` and `output` is given, by the kind of attempt.
  Exchange(FrameHost& host, const ProcessFacts& facts, TaskContext& context)
      : host_(host), facts_(facts), context_(context), settings_(SettingsOf(context.options())), log_(LogOf(context)) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    log_.End();
    if (host_.child == nullptr) return;
    host_.child->Detach();
    if (!clean_) host_.child.reset();
  }

  void EmitTo(map::SortCollector* collector, std::uint32_t partitions) {
    collector_ = collector;
    partitions_ = partitions;
  }
  void WriteTo(OutputFiles* output) { output_ = output; }

  // Starts the child, unless there is one, and begins the attempt.
  Status Begin(const char* kind) {
    if (host_.child == nullptr) MILLRACE_TRY(StartChild());
    host_.child->Attach(MakeReceiver());
    Json options = Json::object();
    const auto parameters = SplitPairs(context_.options().text(kParameters));
    MILLRACE_TRY(parameters.status());
    for (const auto& [name, value] : *parameters) options[name] = value;
    const TaskContext::Facts& facts = context_.facts();
    const Json job = {{"kind", kind},
                      {"attempt", ToText(facts.attempt)},
                      {"partition", facts.attempt.task.index},
                      {"maps", facts.maps},
                      {"reduces", facts.reduces},
                      {"job", facts.job_name},
                      {"options", std::move(options)},
                      {"scratch", facts.scratch}};
    return Send('J', job.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  // Sends a message. Returns the attempt's failure as soon as the child has told one.
  Status Send(char type, std::string_view head, std::string_view body = {}) {
    MILLRACE_TRY(host_.child->Send(type, head, body));
    if (!failure_.ok()) return Failed();
    if (host_.child->over()) return Gone("it " + host_.child->End());
    return output_ != nullptr ? output_->status() : Status::Ok();
  }

  // Lets the child ask for ranges of an input from the next message on: it may answer before Send returns.
  void MayAsk() { asks_ = true; }
  // Waits until the child asks for a range of the current input. Nothing: it has had enough of it.
  Result<std::optional<AskedRange>> NextRange() {
    const Status taken = host_.child->TakeUntil([this] { return asked_ || !asks_ || done_ || !failure_.ok(); });
    if (!failure_.ok()) return Failed();
    if (!taken.ok()) return Gone(taken.message());
    if (done_) return Gone("it was done with the attempt before it had said so of its input");
    return std::exchange(asked_, std::nullopt);
  }

  // Ends the input and waits until the child is done.
  Status End() {
    MILLRACE_TRY(Send('E', {}));
    const Status taken = host_.child->TakeUntil([this] { return done_ || !failure_.ok(); });
    if (!failure_.ok()) return Failed();
    if (!taken.ok()) return Gone(taken.message());
    clean_ = true;
    return Status::Ok();
  }

 private:
  Status StartChild() {
    // It outlives the attempt, so it does not live in the attempt's directory.
    std::string directory = context_.shared_directory();
    MILLRACE_TRY(MakeDirectories(directory));
    if (!facts_.pack.files.empty()) {
      MILLRACE_ASSIGN(directory, Unpack(facts_.pack, facts_.executable, directory));
    }
    ChildCommand command{settings_.mapper, directory, EnvironmentOf(context_, settings_, directory, nullptr),
                         ChildLine::kChannel};
    command.environment.emplace_back("MILLRACE_CHANNEL", "3");
    Result<std::unique_ptr<FrameChild>> child = FrameChild::Start(command, MakeReceiver());
    if (!child.ok()) return Gone(child.status().message());
    host_.child = std::move(child).value();
    return Status::Ok();
  }

  FrameChild::Receiver MakeReceiver() {
    return {[this](char type, std::string_view payload) { Take(type, payload); },
            [this](std::string_view bytes) { log_.Take(bytes); }};
  }

  Status Gone(const std::string& what) {
    log_.End();
    const std::string last = log_.LastLines();
    return Invalid("the child " + Quote(settings_.mapper, 200) + ": " + what +
                   (last.empty() ? "" : "; the end of its output: " + last));
  }
  Status Failed() {
    clean_ = told_;
    return told_ ? failure_ : Gone(failure_.message());
  }
  void Fail(std::string why) {
    if (failure_.ok()) failure_ = Invalid(std::move(why));
  }

  void Take(char type, std::string_view payload) {
    context_.values_taken().fetch_add(1, std::memory_order_relaxed);
    if (!failure_.ok() || done_) return;
    switch (type) {
      case 'O':
      case 'Q':
      case 'P':
        return TakeRecords(type, payload);
      case 'W':
        return TakeOutput(payload);
      case 'G':
      case 'N':
        return TakeRange(type, payload);
      case 'C':
        return TakeCounters(payload);
      case 'S':
        return context_.set_status(std::string(payload));
      case 'A':
        return;
      case 'D':
        done_ = true;
        return;
      case 'X':
        told_ = true;
        return Fail(FailureText(payload));
      default:
        return Fail("sent a message of the unknown type " + Quote(std::string_view(&type, 1)));
    }
  }

  void TakeRecords(char type, std::string_view bytes) {
    if (collector_ == nullptr) return Fail("sent records for reduces in an attempt that writes the job's output");
    Payload payload(bytes);
    while (!payload.empty()) {
      std::uint32_t key_size = 0, more = 0, value_size = 0;
      std::string_view key, value;
      const bool whole = payload.Number(&key_size) && (type == 'O' || payload.Number(&more)) &&
                         payload.Number(&value_size) && payload.Bytes(key_size, &key) &&
                         payload.Bytes(value_size, &value) && (type != 'Q' || more <= key_size);
      if (!whole) return Fail("sent records whose sizes do not fit their message");
      if (type == 'P' && more >= partitions_)
        return Fail("chose reduce " + std::to_string(more) + " of " + std::to_string(partitions_));
      const std::uint32_t partition =
          type == 'P' ? more : HashPartition(type == 'Q' ? key.substr(0, more) : key, partitions_);
      collector_->Emit(partition, key, value);
    }
  }

  void TakeOutput(std::string_view bytes) {
    if (output_ == nullptr) return Fail("wrote output in a map of a job that has reduces");
    Payload payload(bytes);
    std::string_view size, name;
    if (!payload.Bytes(1, &size) || !payload.Bytes(static_cast<unsigned char>(size[0]), &name))
      return Fail("sent output whose name does not fit its message");
    if (!name.empty() && !internal::IsOutputName(name))
      return Fail("named an output " + Quote(name) +
                  "; a name is up to 64 letters, digits and '_', which it does not begin with, and not \"part\"");
    const std::string_view text = bytes.substr(1 + name.size());
    OutputFile& file = name.empty() ? output_->part() : output_->Named(name);
    file.buffer().append(text);
    file.EndRecords(static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')));
  }

  void TakeRange(char type, std::string_view bytes) {
    Payload payload(bytes);
    AskedRange range;
    if (!asks_ || asked_) return Fail("asked for a range of an input when none was to be asked for");
    if (type == 'N') {
      asks_ = false;
    } else if (payload.LongNumber(&range.offset) && payload.LongNumber(&range.length) && payload.empty()) {
      asked_ = range;
    } else {
      Fail("asked for a range that is not two numbers");
    }
  }

  void TakeCounters(std::string_view payload) {
    const Json counters = Json::parse(payload, nullptr, false);
    if (!counters.is_array()) return Fail("sent counters that cannot be read");
    for (const Json& counter : counters) {
      if (!counter.is_array() || counter.size() != 3 || !counter[0].is_string() || !counter[1].is_string() ||
          !counter[2].is_number_integer())
        return Fail("sent a counter that is not [group, name, amount]");
      context_.counter(counter[0].get<std::string>(), counter[1].get<std::string>())
          .Add(counter[2].get<std::int64_t>());
    }
  }

  FrameHost& host_;
  const ProcessFacts& facts_;
  TaskContext& context_;
  const Settings settings_;
  ChildLog log_;
  map::SortCollector* collector_ = nullptr;
  std::uint32_t partitions_ = 1;
  OutputFiles* output_ = nullptr;
  Status failure_;
  bool asks_ = false;  // the child may ask for ranges of an input
  std::optional<AskedRange> asked_;
  bool told_ = false;  // the child itself has told the failure, and waits for the next attempt
  bool done_ = false;
  bool clean_ = false;  // the child can take another attempt
};

Status SendRange(Exchange& exchange, const AskedParts::Record& file, const AskedRange& range) {
  const std::uint64_t length = file.split.file_length;
  if (range.offset > length || range.length > length - range.offset)
    return Invalid("the child asked for " + std::to_string(range.length) + " bytes from byte " +
                   std::to_string(range.offset) + " on of " + Quote(file.split.name) + ", which has " +
                   std::to_string(length));
  std::string part;
  for (std::uint64_t at = range.offset, end = range.offset + range.length; at < end; at += part.size()) {
    part.clear();
    MILLRACE_TRY(file.source.ReadAt(at, std::min(kPart, end - at), &part));
    if (part.empty())
      return Corrupt(Quote(file.split.name) + " ends at byte " + std::to_string(at) + " instead of " +
                     std::to_string(length) + ": it was replaced after the job was submitted");
    MILLRACE_TRY(exchange.Send('F', Little64(at), part));
  }
  return Status::Ok();
}

// Gives the child what it asks for of a file; or all of it, if it is compressed, since its parts cannot be found then.
Status SendAskedParts(Exchange& exchange, const AskedParts::Record& file, bool decompresses, Json begin) {
  std::string first;
  MILLRACE_TRY(file.source.ReadAt(0, kCompressionBytes, &first));
  // A compressed file is not cut, so another split than the whole file is of one that only looks so.
  const bool whole =
      decompresses && file.split.length == file.split.file_length && CompressionOf(first) != Compression::kNone;
  begin["ranges"] = !whole;
  begin["file_length"] = file.split.file_length;
  if (!whole) exchange.MayAsk();
  MILLRACE_TRY(exchange.Send('I', begin.dump(-1, ' ', false, Json::error_handler_t::replace)));
  if (!whole) {
    while (true) {
      MILLRACE_ASSIGN(const std::optional<AskedRange> range, exchange.NextRange());
      if (!range) return Status::Ok();
      MILLRACE_TRY(SendRange(exchange, file, *range));
    }
  }
  std::uint64_t at = 0;
  Status sent;
  const Status read = file.source.Stream(0, file.split.file_length, [&](std::string_view piece) {
    while (!piece.empty() && sent.ok()) {
      const std::string_view part = piece.substr(0, kBatch);
      sent = exchange.Send('F', Little64(at), part);
      at += part.size();
      piece.remove_prefix(part.size());
    }
    return sent.ok();
  });
  return sent.ok() ? read : sent;
}

Status SendInput(Exchange& exchange, InputForm form, MapAttempt& attempt, std::size_t i) {
  const MapInput& input = attempt.inputs[i];
  const Json begin = {{"path", input.split.name},     {"name", input.name},
                      {"index", input.index},         {"number", i},
                      {"offset", input.split.offset}, {"length", input.split.length}};
  if (form == InputForm::kTables) {
    Status sent;
    const bool decompresses = attempt.context.options().engine().decompress;
    MILLRACE_TRY(ReadInput<AskedParts>(attempt, i, [&](const AskedParts::Record& file, std::uint64_t) {
      sent = SendAskedParts(exchange, file, decompresses, begin);
    }));
    return sent;
  }
  MILLRACE_TRY(exchange.Send('I', begin.dump(-1, ' ', false, Json::error_handler_t::replace)));
  Status sent;
  const auto check = [&sent](Status status) {
    sent = std::move(status);
    if (!sent.ok()) throw EnoughRead();
  };
  Counter& records = attempt.context.counter("millrace", "map_input_records");
  if (form == InputForm::kLines) {
    MILLRACE_TRY(ReadInput<TextChunks>(attempt, i, [&](std::string_view bytes, std::uint64_t offset) {
      records.Add(std::count(bytes.begin(), bytes.end() - 1, '\n'));
      check(exchange.Send('L', Little64(offset), bytes));
    }));
    return sent;
  }
  if (form == InputForm::kFiles) {
    std::int64_t pieces = 0;
    MILLRACE_TRY(ReadInput<FilePieces>(attempt, i, [&](std::string_view piece, std::uint64_t offset) {
      ++pieces;
      while (!piece.empty()) {
        const std::string_view part = piece.substr(0, kBatch);
        check(exchange.Send('F', Little64(offset), part));
        offset += part.size();
        piece.remove_prefix(part.size());
      }
    }));
    records.Add(1 - pieces);
    return sent;
  }
  std::string batch;
  MILLRACE_TRY(ReadInput<RecordFiles>(attempt, i, [&](const KeyValue& record, std::uint64_t) {
    Put32(record.key.size(), &batch);
    Put32(record.value.size(), &batch);
    batch.append(record.key).append(record.value);
    if (batch.size() < kBatch) return;
    check(exchange.Send('R', batch));
    batch.clear();
  }));
  MILLRACE_TRY(sent);
  return batch.empty() ? Status::Ok() : exchange.Send('R', batch);
}

}  // namespace

Status FrameMap(FrameHost& host, const ProcessFacts& facts, const InputForms& forms, MapAttempt& attempt) {
  Exchange exchange(host, facts, attempt.context);
  std::optional<map::SortCollector> collector;
  if (attempt.output == nullptr) {
    exchange.EmitTo(&collector.emplace(attempt.collector, nullptr), attempt.collector.partitions);
  } else {
    exchange.WriteTo(attempt.output);
  }
  MILLRACE_TRY(exchange.Begin(attempt.output == nullptr ? "map" : "map_only"));
  for (std::size_t i = 0; i < attempt.inputs.size(); ++i)
    MILLRACE_TRY(SendInput(exchange, FormOf(forms, attempt.inputs[i].index), attempt, i));
  MILLRACE_TRY(exchange.End());
  attempt.context.Enter(Hook::kNone);
  if (!collector) return attempt.output->status();
  MILLRACE_TRY(collector->Finish());
  attempt.figures = collector->figures();
  internal::CountMapOutput(attempt.context, attempt.figures, false);
  return Status::Ok();
}

Status FrameReduce(FrameHost& host, const ProcessFacts& facts, ReduceAttempt& attempt) {
  TaskContext& context = attempt.context;
  context.Enter(Hook::kReduce);
  Exchange exchange(host, facts, context);
  exchange.WriteTo(&attempt.output);
  MILLRACE_TRY(exchange.Begin("reduce"));
  reduce::Groups groups(attempt.segments.Cursors());
  const GroupPlace::Watch<std::string_view> watch(attempt.place, groups);
  std::string batch;
  while (groups.NextGroup()) {
    const std::string_view key = groups.key();
    bool same = false;
    std::string_view value;
    while (groups.NextValue(&value)) {
      Put32(same ? kSameKey : key.size(), &batch);
      Put32(value.size(), &batch);
      if (!same) batch.append(key);
      batch.append(value);
      same = true;
      if (batch.size() < kBatch) continue;
      MILLRACE_TRY(exchange.Send('R', batch));
      batch.clear();
      context.values_taken().fetch_add(1, std::memory_order_relaxed);
      context.SetOffset(groups.raw_bytes_consumed());
    }
  }
  MILLRACE_TRY(groups.status());
  if (!batch.empty()) MILLRACE_TRY(exchange.Send('R', batch));
  MILLRACE_TRY(exchange.End());
  attempt.groups = groups.groups();
  context.Enter(Hook::kNone);
  return attempt.output.status();
}

}  // namespace millrace::streaming
