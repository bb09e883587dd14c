// Counts every three consecutive words of a file: a line "a|b|c TAB count" for each, over all files, or with
// sequencecount.by_file "a|b|c|file TAB count" for each file, as the PUMA suite has it. Sequences go on over the ends
// of lines and of splits (word_sequences.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client/api/job.h"
#include "examples/words/word_sequences.h"

namespace millrace::examples {

struct SequenceCount {
  using Input = WordSequences<3>;
  using Key = std::string_view;
  using Value = std::uint64_t;

  static void Options(JobOptions& options) {
    options.Bool("sequencecount.by_file", false, "count for each file, whose name is added to the sequence");
  }

  explicit SequenceCount(TaskContext& context)
      : context_(context), by_file_(context.options().boolean("sequencecount.by_file")) {}

  void Map(std::string_view sequence, auto& emit) {
    if (!by_file_) {
      emit(sequence, 1);
      return;
    }
    key_.assign(sequence).append(1, '|').append(context_.input_name());
    emit(key_, 1);
  }

  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }

  void Reduce(std::string_view sequence, auto& counts, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    emit(sequence, sum);
  }

 private:
  TaskContext& context_;
  bool by_file_;
  std::string key_;
};

}  // namespace millrace::examples
