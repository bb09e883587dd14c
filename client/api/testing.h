// SPDX-License-Identifier: Apache-2.0
// The tests of a job include this header besides the job's source. They run the job's Map, its Reduce or the whole job
// in this process as a cluster would, with options, counters and side files, and compare the results with those that
// they expect.
//
//   #define main job_main          // the job's own main stays out of the way
//   #include "SOURCE OF THE JOB"
//   #undef main
//   #include "client/api/testing.h"
//
//   int main() {
//     const auto done = millrace::RunJob<Average>({"Oslo 2\nRome 20\nOslo 4\n"});
//     MILLRACE_EXPECT(done.error.empty());
//     MILLRACE_EXPECT((done.lines == std::vector<std::string>{"Oslo\t3", "Rome\t20"}));
//     return millrace::TestStatus();
//   }
//
// CMake builds such a test with millrace_add_test(NAME SOURCE). Any test framework works, too.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "client/api/bind_job.h"

// If the expectation is not met, reports its place on standard error and, if the last run failed, the reason for that.
// TestStatus then returns a failure. This works in every build.
#define MILLRACE_EXPECT(...) \
  ::millrace::internal::Expect(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

namespace millrace {

// An input of a job: a file of this name.
struct TestInput {
  TestInput(std::string bytes_of_file) : bytes(std::move(bytes_of_file)) {}  // NOLINT(google-explicit-constructor)
  TestInput(const char* bytes_of_file) : bytes(bytes_of_file) {}             // NOLINT(google-explicit-constructor)
  TestInput(std::string name_of_file, std::string bytes_of_file)
      : name(std::move(name_of_file)), bytes(std::move(bytes_of_file)) {}

  std::string name = "input";
  std::string bytes;
};

struct TestSettings {
  std::vector<std::string> options = {};                // as given to -D: "top_urls.least=30"
  std::map<std::string, std::string> side_files = {};   // bytes by the path that the job gives to ReadFile or MapFile
  std::optional<std::uint32_t> reducers = {};           // for RunJob; if not set: 1, or 0 for a job without reduces
  std::uint64_t split_bytes = std::uint64_t{64} << 20;  // how much of a file one map reads
};

// The counters of all tasks, by "group name": the job's own, and the engine's in the group "millrace".
using TestCounters = std::map<std::string, std::int64_t>;

// The results of a job, or of its Reduce.
struct TestedJob {
  std::string error;                         // why it failed; empty: it succeeded
  std::vector<std::string> lines;            // of its part files, in order
  std::map<std::string, std::string> files;  // all files of the output: bytes by name
  TestCounters counters;
};

namespace internal {

// The type that owns the bytes of a T: std::string for a view, else T.
template <class T>
using Owned = std::conditional_t<std::is_same_v<T, std::string_view>, std::string, T>;

}  // namespace internal

// The records that the maps of a job leave for its reduces, in order of keys; the records of a key are in the order in
// which they were emitted. If the job has a Combine, they are the combined records.
template <class J>
struct TestedMap {
  std::string error;  // why it failed; empty: it succeeded
  std::vector<std::pair<internal::Owned<typename J::Key>, internal::Owned<typename J::Value>>> records;
  TestCounters counters;
};

// Returns the exit status for the main of a test: 0 if there was an expectation and all were met.
[[nodiscard]] int TestStatus();

namespace internal {

struct RawTestedMap {
  std::string error;
  std::vector<std::pair<std::string, std::string>> records;
  TestCounters counters;
};
[[nodiscard]] TestedJob RunTestedJob(const JobBinding& binding, const std::vector<TestInput>& inputs,
                                     const TestSettings& settings);
[[nodiscard]] RawTestedMap RunTestedMap(const JobBinding& binding, const std::vector<TestInput>& inputs,
                                        const TestSettings& settings);
[[nodiscard]] TestedJob RunTestedReduce(const JobBinding& binding,
                                        const std::vector<std::pair<std::string, std::string>>& records,
                                        const TestSettings& settings);
void Expect(bool met, const char* what, const char* file, int line);

// Returns the bytes of a key or value, which is given as a T or as an argument from which a T can be made.
template <class T, class Bytes, class Given>
std::string BytesOf(const Given& given) {
  std::string scratch;
  return std::string(Bytes::Encode(T(given), &scratch));
}

}  // namespace internal

// Runs the whole job. `inputs` are the INPUT arguments, each one file; a job that makes its own data has none.
template <class J>
[[nodiscard]] TestedJob RunJob(const std::vector<TestInput>& inputs, const TestSettings& settings = {}) {
  return internal::RunTestedJob(internal::BindJob<J>(), inputs, settings);
}

// Runs the maps of a job that has a Key and a Value.
template <internal::HasIntermediate J>
[[nodiscard]] TestedMap<J> RunMap(const std::vector<TestInput>& inputs, const TestSettings& settings = {}) {
  internal::RawTestedMap raw = internal::RunTestedMap(internal::BindJob<J>(), inputs, settings);
  TestedMap<J> tested{std::move(raw.error), {}, std::move(raw.counters)};
  for (const auto& [key_bytes, value_bytes] : raw.records) {
    typename J::Key key{};
    typename J::Value value{};
    if (!Codec<typename J::Key>::Decode(key_bytes, &key) ||
        !internal::ValueBytes<typename J::Value>::Decode(value_bytes, &value)) {
      tested.error = "what Map emitted does not decode; does its Codec read what it writes?";
      return tested;
    }
    tested.records.emplace_back(key, value);
  }
  return tested;
}

// Runs a reduce over these records, which need not be sorted. In a job with Combine, they are combined records.
template <internal::HasIntermediate J>
[[nodiscard]] TestedJob RunReduce(
    const std::vector<std::pair<internal::Owned<typename J::Key>, internal::Owned<typename J::Value>>>& records,
    const TestSettings& settings = {}) {
  using Key = typename J::Key;
  using Value = typename J::Value;
  std::vector<std::pair<std::string, std::string>> raw;
  raw.reserve(records.size());
  for (const auto& [key, value] : records) {
    raw.emplace_back(internal::BytesOf<Key, Codec<Key>>(key),
                     internal::BytesOf<Value, internal::ValueBytes<Value>>(value));
  }
  return internal::RunTestedReduce(internal::BindJob<J>(), raw, settings);
}

// Runs a reduce over the values of one key.
template <internal::HasIntermediate J>
[[nodiscard]] TestedJob RunReduce(const internal::Owned<typename J::Key>& key,
                                  const std::vector<internal::Owned<typename J::Value>>& values,
                                  const TestSettings& settings = {}) {
  std::vector<std::pair<internal::Owned<typename J::Key>, internal::Owned<typename J::Value>>> records;
  for (const auto& value : values) records.emplace_back(key, value);
  return RunReduce<J>(records, settings);
}

}  // namespace millrace
