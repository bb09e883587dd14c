// SPDX-License-Identifier: Apache-2.0
#include "client/api/testing.h"

#include <cstdio>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "client/process/crash_report.h"
#include "client/solo/solo.h"

namespace millrace {
namespace {

std::uint64_t expectations = 0, unmet = 0;
std::string last_error;  // of what was run last; empty: it succeeded

// A crash reports its cause, as it does in a task; the likeliest one is a view that was kept.
void ReportCrashesOnce() {
  [[maybe_unused]] static const bool once = [] {
    ReportCrashes(nullptr);
    return true;
  }();
}

// The files of a tested job, which go with it.
class TestFiles {
 public:
  static Result<TestFiles> Make(const JobBinding& binding, const std::vector<TestInput>& inputs,
                                const TestSettings& settings) {
    MILLRACE_ASSIGN(TempDir directory, TempDir::Make("millrace-test-"));
    TestFiles files(std::move(directory));
    solo::SoloRun& run = files.run_;
    run.output = files.directory_.path() + "/output";
    run.reduces = settings.reducers.value_or(binding.map_only ? 0 : 1);
    run.parameters = settings.options;
    run.split_length = settings.split_bytes;
    for (const TestInput& input : inputs) {
      MILLRACE_ASSIGN(std::string path,
                      files.Write("input" + std::to_string(run.inputs.size()), input.name, input.bytes));
      run.inputs.push_back(std::move(path));
    }
    for (const auto& [path, bytes] : settings.side_files) {
      MILLRACE_ASSIGN(std::string local, files.Write("side" + std::to_string(run.files.size()), "bytes", bytes));
      run.files.emplace_back(path, std::move(local));
    }
    return files;
  }
  [[nodiscard]] const solo::SoloRun& run() const { return run_; }
  // Reads what the job has left.
  Status Read(TestedJob* job) const {
    MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(run_.output));
    for (const std::string& name : names) {
      if (name.starts_with('_')) continue;
      MILLRACE_ASSIGN(std::string bytes, ReadWholeFile(run_.output + "/" + name));
      if (name.starts_with("part-")) AppendLines(bytes, &job->lines);
      job->files[name] = std::move(bytes);
    }
    return Status::Ok();
  }

 private:
  explicit TestFiles(TempDir directory) : directory_(std::move(directory)) {}
  // Each file has a directory of its own, since two may have one name.
  Result<std::string> Write(const std::string& directory, const std::string& name, const std::string& bytes) const {
    if (name.empty() || name.find('/') != std::string::npos)
      return Invalid("the name " + Quote(name) + " of an input is not that of a file");
    MILLRACE_TRY(MakeDirectories(directory_.path() + "/" + directory));
    std::string path = directory_.path() + "/" + directory + "/" + name;
    MILLRACE_TRY(WriteFileDurably(path, bytes));
    return path;
  }
  static void AppendLines(std::string_view bytes, std::vector<std::string>* lines) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      lines->emplace_back(bytes.substr(0, end));
      bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
    }
  }

  TempDir directory_;
  solo::SoloRun run_;
};

TestCounters CountersOf(const std::vector<CounterValue>& counters) {
  TestCounters all;
  for (const CounterValue& counter : counters) all[counter.group + " " + counter.name] = counter.value;
  return all;
}

using Counted = Result<std::vector<CounterValue>>;

TestedJob Tested(const JobBinding& binding, const std::vector<TestInput>& inputs, const TestSettings& settings,
                 const std::function<Counted(const solo::SoloRun&)>& run) {
  ReportCrashesOnce();
  TestedJob job;
  const Status status = [&]() -> Status {
    MILLRACE_ASSIGN(const TestFiles files, TestFiles::Make(binding, inputs, settings));
    MILLRACE_ASSIGN(const std::vector<CounterValue> counters, run(files.run()));
    job.counters = CountersOf(counters);
    return files.Read(&job);
  }();
  if (!status.ok()) job.error = status.message();
  last_error = job.error;
  return job;
}

}  // namespace

int TestStatus() {
  if (expectations == 0) std::fprintf(stderr, "no MILLRACE_EXPECT was reached\n");
  return expectations > 0 && unmet == 0 ? 0 : 1;
}

namespace internal {

TestedJob RunTestedJob(const JobBinding& binding, const std::vector<TestInput>& inputs, const TestSettings& settings) {
  return Tested(binding, inputs, settings,
                [&](const solo::SoloRun& run) { return solo::RunSolo(binding, "job", run); });
}

RawTestedMap RunTestedMap(const JobBinding& binding, const std::vector<TestInput>& inputs,
                          const TestSettings& settings) {
  ReportCrashesOnce();
  RawTestedMap tested;
  const Status status = [&]() -> Status {
    MILLRACE_ASSIGN(const TestFiles files, TestFiles::Make(binding, inputs, settings));
    MILLRACE_ASSIGN(solo::SoloMaps maps, solo::RunSoloMaps(binding, "job", files.run()));
    tested.records = std::move(maps.records);
    tested.counters = CountersOf(maps.counters);
    return Status::Ok();
  }();
  if (!status.ok()) tested.error = status.message();
  last_error = tested.error;
  return tested;
}

TestedJob RunTestedReduce(const JobBinding& binding, const std::vector<std::pair<std::string, std::string>>& records,
                          const TestSettings& settings) {
  return Tested(binding, {}, settings,
                [&](const solo::SoloRun& run) { return solo::RunSoloReduce(binding, "job", run, records); });
}

void Expect(bool met, const char* what, const char* file, int line) {
  ++expectations;
  if (met) return;
  ++unmet;
  std::fprintf(stderr, "%s:%d: expected: %s\n", file, line, what);
  if (!last_error.empty()) std::fprintf(stderr, "  the last run failed: %s\n", last_error.c_str());
}

}  // namespace internal
}  // namespace millrace
