// SPDX-License-Identifier: Apache-2.0
// Counts every three consecutive words of a file. It writes a line "a|b|c TAB count" for each such sequence in all
// files or, with sequencecount.by_file, a line "a|b|c|file TAB count" for each sequence and file, as in the PUMA suite.
// Sequences continue over the ends of lines and of splits (word_sequences.h).
//
// Most sequences occur once or twice, so a table of them would fold little and miss the cache for each. Instead a map
// counts by sorting (triple_counter.h), and emits its counts in order.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "client/api/job.h"
#include "examples/words/triple_counter.h"
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
      : context_(context),
        by_file_(context.options().boolean("sequencecount.by_file")),
        triples_(context.facts().memory, by_file_) {}

  void Map(const WordSequence<3>& sequence, auto& emit) {
    if (context_.input_number() != input_) BeginInput(emit);
    if (begun_ && triples_.Push(sequence.words[2])) [[likely]]
      return;
    if (begun_) EmitAll(emit);
    for (const std::string_view word : sequence.words) {
      if (!triples_.Push(word))
        throw std::length_error("three words of " + file_ + " do not fit into the memory of a map");
    }
    begun_ = true;
  }
  void FinishMap(auto& emit) { EmitAll(emit); }

  void Reduce(std::string_view sequence, auto& counts, auto& emit) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    emit(sequence, sum);
  }

 private:
  void BeginInput(auto& emit) {
    if (by_file_) EmitAll(emit);
    triples_.EndText();
    begun_ = false;
    input_ = context_.input_number();
    file_ = context_.input_name();
  }
  void EmitAll(auto& emit) {
    triples_.Take([&](std::string_view triple, std::uint64_t count) {
      if (!by_file_) return emit(triple, count);
      emit(key_.assign(triple).append(1, '|').append(file_), count);
    });
  }

  TaskContext& context_;
  bool by_file_;
  TripleCounter triples_;
  bool begun_ = false;  // the last sequence is of this file and was counted
  std::uint64_t input_ = ~std::uint64_t{0};
  std::string file_;  // the name of input input_
  std::string key_;
};

}  // namespace millrace::examples
