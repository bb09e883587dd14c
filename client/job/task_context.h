// SPDX-License-Identifier: Apache-2.0
// TaskContext tells a job's code about the attempt in which it runs, and takes what the code reports.
// Thread rule: the task's thread, unless a comment says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids/ids.h"
#include "base/status.h"
#include "client/job/counters.h"
#include "client/job/job_options.h"
#include "client/job/side_files.h"

namespace millrace {

// The functions of a job's code; that which is running is named in the message of a failure.
enum class Hook : std::uint8_t { kNone, kConstructor, kStart, kMap, kFinishMap, kCombine, kReduce, kFinishReduce };

// Returns the function's name as the job's author knows it; empty for kNone. A function that Map calls, such as
// Partition, counts as Map.
[[nodiscard]] constexpr std::string_view ToString(Hook hook) {
  constexpr std::string_view kNames[] = {"",          "constructor", "Start",  "Map",
                                         "FinishMap", "Combine",     "Reduce", "FinishReduce"};
  return kNames[static_cast<std::size_t>(hook)];
}

class TaskContext {
 public:
  struct Facts {
    AttemptId attempt;
    std::string job_name;
    std::uint32_t maps = 0;
    std::uint32_t reduces = 0;
    std::string scratch;       // an existing directory of the attempt's own, removed after it
    std::uint64_t memory = 0;  // bytes for its buffers: the job's task.memory, or less if the worker allows no more
  };
  // The facts about an input besides its range; input_path, input_name and input_index return them.
  struct InputFacts {
    std::string path, name;
    std::uint32_t index = 0;
  };
  // Requires: `options` and `side_files` outlive this.
  TaskContext(Facts facts, const JobOptions& options, SideFiles& side_files)
      : facts_(std::move(facts)), options_(options), side_files_(side_files) {}

  // Returns a counter of the job; counters are summed over the job's tasks. Look it up once (in Start), then add to
  // it by ++counter or counter += n. Only the first 255 bytes of a group and of a name count.
  [[nodiscard]] Counter& counter(std::string_view group, std::string_view name) { return counters_.Get(group, name); }
  // Sets the line that is shown for this task until the next call.
  void set_status(std::string text);
  [[nodiscard]] const JobOptions& options() const { return options_; }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  // Returns the bytes of a file of the file system, or of all files of a directory or pattern that are not hidden ('_',
  // '.'), one after the other. This is for side files, which a job reads besides its input. Call ReadFile in Start,
  // since it asks the master. It reads 1 GiB at most.
  [[nodiscard]] Result<std::string> ReadFile(const std::string& path) const { return side_files_.Read(path); }
  // Returns the bytes that ReadFile would return, as a view of a file that is mapped for reading. This is for large
  // files, which may be larger than the memory. The tasks of the job on one machine share the file. If the machine does
  // not have it in one piece, the first task that needs it copies it to the machine, checked against its checksums, and
  // the others wait; the copy is removed with the job. Returns kNoSpace if the copies on a machine would take more than
  // the job's task.mapped_files (-D). The view lives as long as the attempt.
  [[nodiscard]] Result<std::string_view> MapFile(const std::string& path) {
    return side_files_.Map(
        path, {&counters_.Get("millrace", "mapped_bytes_copied"), &counters_.Get("millrace", "mapped_wait_micros")});
  }

  // These calls describe the record that Map is given. input_index is the number of the job's INPUT argument that holds
  // the record, from 0. A join of two directories tells its sides apart with input_index, since files of both may have
  // the same name. An argument that is a pattern is one input, whatever it matches. input_path is the full path of the
  // record's file in the file system; empty if the input is numbers. input_name is the file's path below the input
  // ("sub/a.txt"), or its base name if the input is itself a file. input_number is the number of files or blocks that
  // came before this one in the attempt. input_offset is the place of the record's first byte in the file or, if the
  // file is compressed, in the decompressed bytes. The views live until the attempt's next file or block.
  [[nodiscard]] std::uint32_t input_index() const { return input_.index; }
  [[nodiscard]] std::string_view input_path() const { return input_.path; }
  [[nodiscard]] std::string_view input_name() const { return input_.name; }
  [[nodiscard]] std::uint64_t input_number() const { return input_number_; }
  [[nodiscard]] std::uint64_t input_offset() const { return offset_.load(std::memory_order_relaxed); }

  // The rest is for the runtime.
  // Returns a directory that the job's tasks on this machine share; it may not exist yet.
  [[nodiscard]] const std::string& shared_directory() const { return side_files_.directory(); }
  [[nodiscard]] CounterSet& counters() { return counters_; }
  // Notes the function of the job's code that is about to run.
  void Enter(Hook hook) { hook_.store(hook, std::memory_order_relaxed); }
  [[nodiscard]] Hook hook() const { return hook_.load(std::memory_order_relaxed); }  // any thread, or a signal handler
  // A count that rises with about every emitted record. The collector or output that takes the records raises it, so
  // that an input record from which very many are emitted is seen to make progress.
  [[nodiscard]] std::atomic<std::uint64_t>& emitted() { return emitted_; }
  // A count that rises with each value that a reduce takes, so that a key with very many values is seen to make
  // progress.
  [[nodiscard]] std::atomic<std::uint64_t>& values_taken() { return values_taken_; }
  void BeginInput(InputFacts input, std::uint64_t number, std::uint64_t offset);
  void EndInput(std::uint64_t bytes);
  void SetOffset(std::uint64_t offset) { offset_.store(offset, std::memory_order_relaxed); }
  // Sets the number of bytes of the current input that have been read, if the input is compressed. Progress is measured
  // by these bytes, since offsets in the decompressed bytes do not show how much is left.
  void SetTaken(std::uint64_t bytes) { taken_.store(bytes, std::memory_order_relaxed); }
  void SetTotal(std::uint64_t bytes) { total_.store(bytes, std::memory_order_relaxed); }
  [[nodiscard]] double fraction() const;     // any thread; 0 to 1, of the bytes of all inputs as they are stored
  [[nodiscard]] std::string status() const;  // any thread

 private:
  static constexpr std::uint64_t kNotCompressed = ~std::uint64_t{0};

  const Facts facts_;
  const JobOptions& options_;
  SideFiles& side_files_;
  CounterSet counters_;
  mutable std::mutex status_mutex_;
  std::string status_;
  InputFacts input_;
  std::uint64_t input_number_ = 0;
  std::atomic<std::uint64_t> offset_{0};  // in the current input, which began at begin_
  std::atomic<std::uint64_t> begin_{0};
  std::atomic<std::uint64_t> taken_{kNotCompressed};
  std::atomic<std::uint64_t> done_{0};  // bytes of the inputs before the current one
  std::atomic<std::uint64_t> total_{0};
  std::atomic<std::uint64_t> emitted_{0}, values_taken_{0};
  std::atomic<Hook> hook_{Hook::kNone};
};

// Calls the job's code. Returns kInvalid, naming the function of the job, if that throws an exception.
[[nodiscard]] Status CallJob(const TaskContext& context, const std::function<Status()>& call);

}  // namespace millrace
