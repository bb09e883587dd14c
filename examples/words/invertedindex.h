// SPDX-License-Identifier: Apache-2.0
// Finds the files in which each word occurs. It writes a line "word TAB file file ...", with the names in order of
// their bytes and each once.
//
// A map emits a word once for all of its files (up to 64 together). The value is their names in order, separated by
// NUL, which no name holds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/job.h"
#include "client/api/key_table.h"
#include "examples/words/words.h"

namespace millrace::examples {

// NameList merges lists of names, each in order, into one list. If all names of a list come after those so far, as they
// mostly do with the lists of later maps, the list is only copied.
class NameList {
 public:
  void Clear() {
    text_.clear();
    last_ = 0;
    sorted_ = true;
  }
  // Adds a list, with NUL between its names. Requires: the list is not empty.
  void Add(std::string_view names) {
    if (!text_.empty()) {
      sorted_ = sorted_ && std::string_view(text_).substr(last_) < names.substr(0, names.find('\0'));
      text_ += '\0';
    }
    const std::size_t last = names.rfind('\0');
    last_ = text_.size() + (last == names.npos ? 0 : last + 1);
    text_ += names;
  }
  // Returns all names, each once, separated by `between`. Requires: Join is called once.
  std::string_view Join(char between) {
    if (!sorted_) Sort();
    std::ranges::replace(text_, '\0', between);
    return text_;
  }

 private:
  void Sort() {
    const std::string text = std::move(text_);
    std::vector<std::string_view> names;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\0', begin), text.size());
      names.push_back(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    Clear();
    for (const std::string_view name : names) Add(name);
  }

  std::string text_;
  std::size_t last_ = 0;  // where the last name begins
  bool sorted_ = true;
};

struct InvertedIndex {
  using Input = TextChunks;  // a word ends with its line, so no chunk cuts it
  using Key = std::string_view;
  using Value = std::string_view;

  explicit InvertedIndex(TaskContext& context) : context_(context) {}

  void Map(std::string_view lines, auto& emit) {
    if (names_.empty() || context_.input_number() != input_) BeginFile(emit);
    const std::uint64_t file = std::uint64_t{1} << (names_.size() - 1);
    ForEachWord(lines, [&](std::string_view word) {
      if (words_.Add(word, file)) [[unlikely]]
        EmitAll(emit);
    });
  }
  void FinishMap(auto& emit) { EmitAll(emit); }

  void Reduce(std::string_view word, auto& lists, auto& emit) {
    list_.Clear();
    for (const std::string_view names : lists) list_.Add(names);
    emit(word, list_.Join(' '));
  }

 private:
  static constexpr std::size_t kMostFiles = 64;
  struct Unite {
    void operator()(std::uint64_t& all, const std::uint64_t& more) const { all |= more; }
  };

  void BeginFile(auto& emit) {
    if (names_.size() == kMostFiles) {
      EmitAll(emit);
      names_.clear();
    }
    input_ = context_.input_number();
    names_.emplace_back(context_.input_name());
  }
  void EmitAll(auto& emit) {
    words_.TakeAll([&](std::string_view word, std::uint64_t files) {
      list_.Clear();
      for (; files != 0; files &= files - 1) list_.Add(names_[static_cast<std::size_t>(std::countr_zero(files))]);
      emit(word, list_.Join('\0'));
    });
  }

  TaskContext& context_;
  std::uint64_t input_ = 0;
  std::vector<std::string> names_;        // the files that words_ knows
  KeyTable<std::uint64_t, Unite> words_;  // has a bit for each file in which the word occurs
  NameList list_;
};

}  // namespace millrace::examples
