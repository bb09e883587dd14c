// SPDX-License-Identifier: Apache-2.0
// Finds the words that characterise a document, which is a file. It writes a line "file TAB word:count word:count ..."
// with the words that occur at least termvector.least times in the file, the most frequent first, then in order of
// their bytes. A file without such words has no line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/api/job.h"
#include "examples/words/words.h"

namespace millrace::examples {

struct TermVector {
  using Key = std::string_view;  // file, NUL, word; names of files hold no NUL
  using Value = std::uint64_t;

  static void Options(JobOptions& options) {
    options.Integer("termvector.least", 10, 1, std::numeric_limits<std::int64_t>::max(),
                    "how often a word must occur in a file");
  }

  explicit TermVector(TaskContext& context)
      : context_(context), least_(static_cast<std::uint64_t>(context.options().integer("termvector.least"))) {}

  void Map(std::string_view line, auto& emit) {
    if (key_.empty() || context_.input_number() != input_) {
      input_ = context_.input_number();
      key_.assign(context_.input_name()).push_back('\0');
      prefix_ = key_.size();
    }
    ForEachWord(line, [&](std::string_view word) {
      key_.resize(prefix_);
      key_.append(word);
      emit(key_, 1);
    });
  }

  static std::uint64_t Combine(std::uint64_t a, std::uint64_t b) { return a + b; }
  // All words of a file go to one reduce.
  static std::uint32_t Partition(const std::string_view& key, std::uint32_t partitions) {
    return HashPartition(key.substr(0, key.find('\0')), partitions);
  }

  // The keys of a file come one after the other.
  void Reduce(std::string_view key, auto& counts, auto& emit) {
    const std::size_t end = key.find('\0');
    if (key.substr(0, end) != file_) {
      FinishReduce(emit);
      file_.assign(key.substr(0, end));
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    if (sum >= least_) terms_.emplace_back(sum, key.substr(end + 1));
  }
  void FinishReduce(auto& emit) {
    if (terms_.empty()) return;
    const auto more_frequent = [](const auto& a, const auto& b) { return a.first > b.first; };
    std::ranges::stable_sort(terms_, more_frequent);  // they come in order of words
    line_.clear();
    for (const auto& [count, word] : terms_) {
      if (!line_.empty()) line_ += ' ';
      line_.append(word).append(1, ':').append(std::to_string(count));
    }
    emit(file_, line_);
    terms_.clear();
  }

 private:
  TaskContext& context_;
  std::uint64_t least_;
  std::uint64_t input_ = 0;
  std::string key_;
  std::size_t prefix_ = 0;
  std::string file_, line_;
  std::vector<std::pair<std::uint64_t, std::string>> terms_;
};

}  // namespace millrace::examples
