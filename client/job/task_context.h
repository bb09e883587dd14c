// TaskContext: what a job's code knows of the attempt in which it runs, and what it reports.
// Thread rule: the task's thread, unless a comment says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids/ids.h"
#include "base/status.h"
#include "client/job/counters.h"
#include "client/job/hook.h"
#include "client/job/job_options.h"
#include "client/job/side_files.h"

namespace millrace {

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
  // What is known of an input besides its range: input_path, input_name and input_index return it.
  struct InputFacts {
    std::string path, name;
    std::uint32_t index = 0;
  };
  // Requires: `options` and `side_files` outlive this.
  TaskContext(Facts facts, const JobOptions& options, SideFiles& side_files)
      : facts_(std::move(facts)), options_(options), side_files_(side_files) {}

  // Returns a counter of the job; counters are summed over the job's tasks. Look it up once (in Start), then add to
  // it by ++counter or counter += n. The first 255 bytes of group and name count.
  [[nodiscard]] Counter& counter(std::string_view group, std::string_view name) { return counters_.Get(group, name); }
  // Sets the line that is shown for this task until the next call.
  void set_status(std::string text);
  [[nodiscard]] const JobOptions& options() const { return options_; }
  [[nodiscard]] const Facts& facts() const { return facts_; }
  // Returns the bytes of a file of the file system, or of all files of a directory or pattern that are not hidden ('_',
  // '.'), one after the other: this is for what a job reads besides its input. Call it in Start, since it asks the
  // master. It reads 1 GiB at most.
  [[nodiscard]] Result<std::string> ReadFile(const std::string& path) const { return side_files_.Read(path); }
  // Returns the same bytes as a view of a file that is mapped for reading, for what is large: it may be larger than the
  // memory. The tasks of the job on one machine share the file. If it does not lie there in one piece, the first task
  // that wants it copies it there, checked against its checksums, and the others wait; the copy goes with the job.
  // Copies take at most the job's task.mapped_files (-D) on a machine: kNoSpace. The view lives as long as the attempt.
  [[nodiscard]] Result<std::string_view> MapFile(const std::string& path) {
    return side_files_.Map(
        path, {&counters_.Get("millrace", "mapped_bytes_copied"), &counters_.Get("millrace", "mapped_wait_micros")});
  }

  // These describe the record that Map is given. input_index says which INPUT argument of the job it is of, from 0: a
  // join of two directories tells its sides by it, since files of both may bear one name. An argument that is a pattern
  // is one input, whatever it matches. input_path is the record's file, by its full path in the file system; empty, if
  // the input is numbers. input_name is the file, named by the path below the input ("sub/a.txt"), or by its base name
  // if the input is itself a file. input_number is how many files or blocks came before it in this attempt, and
  // input_offset is where its first byte lies in the file; if the file is compressed, in what it decompresses to. The
  // views live until the attempt's next file or block.
  [[nodiscard]] std::uint32_t input_index() const { return input_.index; }
  [[nodiscard]] std::string_view input_path() const { return input_.path; }
  [[nodiscard]] std::string_view input_name() const { return input_.name; }
  [[nodiscard]] std::uint64_t input_number() const { return input_number_; }
  [[nodiscard]] std::uint64_t input_offset() const { return offset_.load(std::memory_order_relaxed); }

  // The rest is for the runtime.
  [[nodiscard]] CounterSet& counters() { return counters_; }
  // Notes which function of the job's code is about to run.
  void Enter(Hook hook) { hook_.store(hook, std::memory_order_relaxed); }
  [[nodiscard]] Hook hook() const { return hook_.load(std::memory_order_relaxed); }  // any thread, or a signal handler
  // Rises while records are emitted, about with each: what takes them counts here, so that one record of which very
  // many come is seen to make progress.
  [[nodiscard]] std::atomic<std::uint64_t>& emitted() { return emitted_; }
  // Rises with each value that a reduce takes, for the same reason.
  [[nodiscard]] std::atomic<std::uint64_t>& values_taken() { return values_taken_; }
  void BeginInput(InputFacts input, std::uint64_t number, std::uint64_t offset);
  void EndInput(std::uint64_t bytes);
  void SetOffset(std::uint64_t offset) { offset_.store(offset, std::memory_order_relaxed); }
  // Tells how many bytes of the current input have been read, if the input is compressed: the progress goes by these,
  // since offsets in what it decompresses to say nothing of how much is left.
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

}  // namespace millrace
