// Finds the files in which each word occurs: a line "word TAB file file ...", the names in order of their bytes and
// each once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/job.h"
#include "examples/invertedindex/word_set.h"
#include "examples/words/words.h"

namespace millrace::examples {

struct InvertedIndex {
  using Key = std::string_view;
  using Value = std::string_view;

  explicit InvertedIndex(TaskContext& context) : context_(context) {}

  void Map(std::string_view line, auto& emit) {
    if (context_.input_number() != input_) {
      FinishMap(emit);
      input_ = context_.input_number();
    }
    if (file_.empty()) file_ = context_.input_name();
    ForEachWord(line, [&](std::string_view word) { words_.Add(word, ToFile(emit)); });
  }
  // The words of the last file.
  void FinishMap(auto& emit) {
    words_.GiveAll(ToFile(emit));
    file_.clear();
  }

  void Reduce(std::string_view word, auto& files, auto& emit) {
    names_.clear();
    for (const std::string_view file : files) {
      if (names_.empty() || names_.back() != file) names_.emplace_back(file);
    }
    std::ranges::sort(names_);
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    list_.clear();
    for (const std::string& name : names_) {
      if (!list_.empty()) list_ += ' ';
      list_ += name;
    }
    emit(word, list_);
  }

 private:
  auto ToFile(auto& emit) {
    return [this, &emit](std::string_view word) { emit(word, std::string_view(file_)); };
  }

  TaskContext& context_;
  std::uint64_t input_ = 0;
  std::string file_;  // of the words
  WordSet words_;
  std::vector<std::string> names_;
  std::string list_;
};

}  // namespace millrace::examples
