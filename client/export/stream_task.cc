// SPDX-License-Identifier: Apache-2.0
#include "client/export/stream_task.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "client/export/record_lines.h"
#include "client/format/line_reader.h"
#include "client/job/output_files.h"
#include "client/job/segments.h"
#include "client/job/side_files.h"
#include "client/job/task_context.h"
#include "client/solo/local_input.h"
#include "worker/task/run/run_file.h"

namespace millrace::exported {
namespace {

constexpr std::uint64_t kSeed = 1;                                // so that a task that runs again does the same
constexpr std::uint64_t kUnknownLength = std::uint64_t{1} << 62;  // the lines end where the input ends

const char* FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the number in the environment, or `otherwise` if there is none.
Result<std::uint64_t> NumberFromEnvironment(const char* name, std::uint64_t otherwise, std::uint64_t most) {
  const std::string_view text = FromEnvironment(name);
  if (text.empty()) return otherwise;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number <= most) return number;
  return Invalid(std::string(name) + " is " + Quote(text) + " in the environment, and not a number up to " +
                 std::to_string(most));
}

// Lines on standard input, as they come.
class LinesIn final : public ByteSource {
 public:
  Status Stream(std::uint64_t, std::uint64_t, const Sink& sink) override {
    buffer_.resize(std::size_t{1} << 20);
    while (true) {
      const ssize_t size = ::read(STDIN_FILENO, buffer_.data(), buffer_.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return FromErrno(errno, "read the standard input");
      if (size == 0 || !sink({buffer_.data(), static_cast<std::size_t>(size)})) return Status::Ok();
    }
  }
  // The lines before are another map's, so what stands before the first byte is the end of one.
  Status ReadAt(std::uint64_t, std::uint64_t size, std::string* out) override {
    out->append(std::min<std::uint64_t>(size, 1), '\n');
    return Status::Ok();
  }
  [[nodiscard]] bool decompressed() const override { return true; }

 private:
  std::string buffer_;
};

// The standard output for lines alone: what the job prints goes to standard error from now on.
Result<Fd> TakeStandardOutput() {
  Fd lines(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!lines.valid() || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return FromErrno(errno, "keep the standard output");
  return lines;
}

// Lines to be written to a descriptor.
class LinesOut {
 public:
  explicit LinesOut(int fd) : fd_(fd) {}
  [[nodiscard]] std::string& buffer() { return buffer_; }
  Status EndLine() {
    buffer_.push_back('\n');
    return buffer_.size() < (std::size_t{1} << 16) ? Status::Ok() : Flush();
  }
  Status Flush() {
    const std::string bytes = std::exchange(buffer_, {});
    return WriteAll(fd_, bytes, "the standard output");
  }

 private:
  const int fd_;
  std::string buffer_;
};

struct Given {
  std::string part;
  std::vector<std::string> parameters;
  solo::LocalInput::Names files;
};

Result<Given> Parse(const std::vector<std::string>& words) {
  constexpr std::string_view kFile = "--file=";
  Given given;
  if (words.empty() || (words[0] != "map" && words[0] != "combine" && words[0] != "reduce"))
    return Invalid("--millrace-stream is followed by map, combine or reduce");
  given.part = words[0];
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    if (!word->starts_with(kFile)) {
      given.parameters.push_back(*word);
      continue;
    }
    const std::string pair = word->substr(kFile.size());
    const std::size_t equals = pair.rfind('=');
    if (equals == std::string::npos) return Invalid(Quote(*word) + " is not --file=LOCAL=PATH");
    given.files.emplace_back(pair.substr(equals + 1), pair.substr(0, equals));
  }
  return given;
}

// One task. Its text of a value is the job's, or the value's bytes.
class Task {
 public:
  Task(const JobBinding& binding, TaskContext& context, Fd out, const std::string& scratch)
      : binding_(binding), context_(context), out_(std::move(out)), run_file_(scratch + "/run"), scratch_(scratch) {}

  Status Map() {
    const TaskContext::Facts& facts = context_.facts();
    MILLRACE_ASSIGN(const MapFile file, ThisFile());
    MILLRACE_ASSIGN(const std::uint64_t start,
                    NumberFromEnvironment("mapreduce_map_input_start", 0, kUnknownLength - 1));
    std::vector<MapInput> inputs(1);
    inputs[0].split = {file.path, start, kUnknownLength, 0};
    inputs[0].name = file.name;
    inputs[0].index = file.index;
    inputs[0].source = std::make_unique<LinesIn>();
    MapAttempt attempt{context_, inputs, {}, nullptr, Random(kSeed + facts.attempt.task.index), nullptr, {}};
    if (facts.reduces == 0) {
      return Write([&](OutputFiles& output) {
        attempt.output = &output;
        return binding_.map(attempt);
      });
    }
    attempt.collector = {facts.reduces, facts.memory, run_file_, scratch_};
    MILLRACE_TRY(CallJob(context_, [&] { return binding_.map(attempt); }));
    return PrintRecords();
  }

  Status Combine() {
    LinesOut out(out_.get());
    std::string key, sum, value, next;
    bool first = true;
    const auto print = [&]() -> Status {
      out.buffer().append(key).push_back('\t');
      MILLRACE_TRY(AppendValue(sum, &out.buffer()));
      return out.EndLine();
    };
    const Status read = EachLine([&](const Line& line) -> Status {
      MILLRACE_TRY(ReadValue(line.value, &value));
      if (!first && line.key == key) {
        return CallJob(context_, [&] {
          if (!binding_.value_lines.combine(sum, value, &next)) return WrongValue(line.value);
          std::swap(sum, next);
          return Status::Ok();
        });
      }
      if (!first) MILLRACE_TRY(print());
      first = false;
      key.assign(line.key);
      std::swap(sum, value);
      return Status::Ok();
    });
    MILLRACE_TRY(read);
    if (!first) MILLRACE_TRY(print());
    return out.Flush();
  }

  Status Reduce() {
    MILLRACE_TRY(KeepRecords());
    MILLRACE_ASSIGN(const MappedSegments segments, MappedSegments::OpenRun(run_file_));
    const TaskContext::Facts& facts = context_.facts();
    return Write([&](OutputFiles& output) {
      ReduceAttempt attempt{context_, segments, facts.memory, output, Random(kSeed + facts.attempt.task.index)};
      return binding_.reduce(attempt);
    });
  }

 private:
  static Status WrongValue(std::string_view text) {
    return Invalid("the value " + Quote(text) + " of a line on standard input is none that this job writes");
  }

  // Returns where the map's file is among the inputs.
  Result<MapFile> ThisFile() const {
    const char* const path = FromEnvironment("mapreduce_map_input_file");
    const std::string_view name = FromEnvironment("millrace_input_name");
    if (!name.empty()) {
      MILLRACE_ASSIGN(const std::uint64_t index, NumberFromEnvironment("millrace_input_index", 0, UINT32_MAX));
      return CheckMapper({path, std::string(name), static_cast<std::uint32_t>(index)});
    }
    const char* const inputs = FromEnvironment("mapreduce_input_fileinputformat_inputdir");
    if (const std::optional<MapFile> found = FindMapFile(path, inputs)) return CheckMapper(*found);
    if (*inputs == '\0' && binding_.mappers.empty()) return MapFile{path, BaseNameOf(path)};
    return Invalid("it is not known which INPUT this map reads: mapreduce_map_input_file is " + Quote(path) +
                   " and mapreduce_input_fileinputformat_inputdir is " + Quote(inputs) + " in the environment");
  }
  static std::string BaseNameOf(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }
  Result<MapFile> CheckMapper(MapFile file) const {
    if (binding_.mappers.empty() || file.index < binding_.mappers.size()) return file;
    return Invalid("the job has " + std::to_string(binding_.mappers.size()) + " mappers, one for each INPUT, and " +
                   Quote(file.path) + " belongs to INPUT " + std::to_string(file.index + 1));
  }

  // Prints what the map has left in its run file.
  Status PrintRecords() {
    const std::uint32_t reduces = context_.facts().reduces;
    MILLRACE_ASSIGN(const Fd file, OpenFile(run_file_, O_RDONLY));
    MILLRACE_ASSIGN(const std::vector<run::SegmentInfo> index, run::ReadRunIndex(file.get(), run_file_, reduces));
    LinesOut out(out_.get());
    for (std::uint32_t reduce = 0; reduce < reduces; ++reduce) {
      const std::string place = reduces > 1 ? PlaceOf(reduce, reduces) : "";
      MILLRACE_ASSIGN(const MappedSegments segments, MappedSegments::Open({{run_file_, index[reduce]}}));
      for (run::SegmentCursor& segment : segments.Cursors()) {
        while (segment.Next()) {
          AppendEscaped(segment.key(), &out.buffer().append(place));
          out.buffer().push_back('\t');
          MILLRACE_TRY(AppendValue(segment.value(), &out.buffer()));
          MILLRACE_TRY(out.EndLine());
        }
        MILLRACE_TRY(segment.status());
      }
    }
    return out.Flush();
  }

  // Keeps the lines of the standard input as the segment of a reduce.
  Status KeepRecords() {
    const TaskContext::Facts& facts = context_.facts();
    const std::string place = facts.reduces > 1 ? PlaceOf(facts.attempt.task.index, facts.reduces) : "";
    MILLRACE_ASSIGN(run::RunWriter writer, run::RunWriter::Create(run_file_, false));
    writer.BeginPartition();
    std::string last, key, value;
    const Status read = EachLine([&](const Line& line) -> Status {
      if (!line.key.starts_with(place)) {
        return Invalid("the line with the key " + Quote(line.key) + " is another reduce's than number " +
                       std::to_string(facts.attempt.task.index) + " of " + std::to_string(facts.reduces) +
                       "; use KeyFieldBasedPartitioner with the option -k1.1,1.2, as `millrace export hadoop` does");
      }
      if (line.key < last) {
        return Invalid("the lines are not sorted: " + Quote(line.key) + " comes after " + Quote(last) +
                       "; sort them by the bytes of the key, as LC_ALL=C sort does");
      }
      if (line.key != last) last.assign(line.key);
      if (!Unescape(line.key.substr(place.size()), &key))
        return Invalid("the key " + Quote(line.key) + " of a line on standard input is none that this job writes");
      MILLRACE_TRY(ReadValue(line.value, &value));
      return writer.Add(key, value);
    });
    MILLRACE_TRY(read);
    MILLRACE_TRY(writer.EndPartition());
    return writer.Finish();
  }

  Status EachLine(const std::function<Status(const Line&)>& take) {
    LinesIn in;
    Status taken;
    MILLRACE_TRY(
        ReadLines(in, {"the standard input", 0, kUnknownLength, 0}, false, [&](std::string_view line, std::uint64_t) {
          if (taken.ok()) taken = take(CutLine(line));
        }));
    return taken;
  }

  Status AppendValue(std::string_view bytes, std::string* line) {
    if (binding_.value_lines.text == nullptr) {
      AppendEscaped(bytes, line);
      return Status::Ok();
    }
    return binding_.value_lines.text(bytes, line) ? Status::Ok() : Corrupt("a value of the job does not decode");
  }
  Status ReadValue(std::string_view text, std::string* bytes) const {
    const bool reads =
        binding_.value_lines.bytes == nullptr ? Unescape(text, bytes) : binding_.value_lines.bytes(text, bytes);
    return reads ? Status::Ok() : WrongValue(text);
  }

  // Lets the job write its output, which is lines, to the standard output.
  Status Write(const std::function<Status(OutputFiles&)>& write) {
    OutputFiles output(context_.facts().attempt.task, [this](const std::string&) {
      return std::make_unique<OutputFile>(
          [this](std::string_view bytes) { return WriteAll(out_.get(), bytes, "the standard output"); },
          [] { return Status::Ok(); });
    });
    MILLRACE_TRY(CallJob(context_, [&] { return write(output); }));
    return output.Finish();
  }

  const JobBinding& binding_;
  TaskContext& context_;
  const Fd out_;
  const std::string run_file_, scratch_;
};

// Hadoop takes commas as separators here, and has counters of its own for what the engine counts.
void ReportCounters(TaskContext& context) {
  const auto plain = [](std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c == ',' || c == '\n'; }, ' ');
    return text;
  };
  for (const CounterValue& counter : context.counters().Snapshot()) {
    if (counter.group == "millrace" || counter.value == 0) continue;
    std::fprintf(stderr, "reporter:counter:%s,%s,%lld\n", plain(counter.group).c_str(), plain(counter.name).c_str(),
                 static_cast<long long>(counter.value));
  }
}

Result<std::uint32_t> ReducesOf(const JobBinding& binding) {
  MILLRACE_ASSIGN(const std::uint64_t reduces,
                  NumberFromEnvironment("mapreduce_job_reduces", binding.map_only ? 0 : 1, kMostReduces));
  if (binding.map_only && reduces > 0)
    return Invalid("the job has maps alone, so its number of reduces is 0, and not " + std::to_string(reduces));
  return static_cast<std::uint32_t>(reduces);
}

}  // namespace

Status RunStreamTask(const JobBinding& binding, const std::string& name, const std::vector<std::string>& words) {
  MILLRACE_ASSIGN(const Given given, Parse(words));
  if (!binding.not_in_lines.empty()) return Unsupported("the job cannot run on lines: " + binding.not_in_lines);
  if (given.part == "combine" && binding.value_lines.combine == nullptr)
    return Invalid("the job has no Combine, so it combines nothing");
  JobOptions options;
  binding.declare(options);
  for (const std::string& parameter : given.parameters) MILLRACE_TRY(options.SetPair(parameter));
  MILLRACE_TRY(options.Validate());
  MILLRACE_ASSIGN(const std::uint32_t reduces, ReducesOf(binding));
  const bool reduce = given.part == "reduce";
  if (given.part != "map" && reduces == 0) return Invalid("a job without reduces has maps alone");
  MILLRACE_ASSIGN(const std::uint64_t maps, NumberFromEnvironment("mapreduce_job_maps", 1, UINT32_MAX));
  MILLRACE_ASSIGN(const std::uint64_t number,
                  NumberFromEnvironment("mapreduce_task_partition", 0, reduce ? reduces - 1 : UINT32_MAX));
  MILLRACE_ASSIGN(const TempDir scratch, TempDir::Make("millrace-stream-"));
  solo::LocalInput files(given.files);
  SideFiles side_files(files, {scratch.path() + "/files"});
  const TaskId id{JobId{0}, reduce ? TaskKind::kReduce : TaskKind::kMap, static_cast<std::uint32_t>(number)};
  TaskContext context(
      {{id, 0}, name, static_cast<std::uint32_t>(maps), reduces, scratch.path(), options.engine().task_memory}, options,
      side_files);
  MILLRACE_ASSIGN(Fd out, TakeStandardOutput());
  Task task(binding, context, std::move(out), scratch.path());
  MILLRACE_TRY(reduce ? task.Reduce() : given.part == "map" ? task.Map() : task.Combine());
  ReportCounters(context);
  return Status::Ok();
}

}  // namespace millrace::exported
