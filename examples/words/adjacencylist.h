// SPDX-License-Identifier: Apache-2.0
// Makes the adjacency lists of a directed graph, for programs that rank vertices. Its input is edges "p q" (two words,
// between any white space). It writes a line "vertex TAB from,from,... TAB to,to,..." for each vertex, in order of
// bytes and without repeats; a list may be empty. Lines that are not two words are counted (adjacencylist.bad_lines)
// and left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/api/job.h"
#include "examples/words/words.h"

namespace millrace::examples {

struct AdjacencyList {
  using Key = std::string_view;
  using Value = std::string_view;  // '<' and the source of an edge, or '>' and its target

  explicit AdjacencyList(TaskContext& context) : bad_lines_(context.counter("adjacencylist", "bad_lines")) {}

  void Map(std::string_view line, auto& emit) {
    std::string_view ends[2];
    std::size_t words = 0;
    ForEachWord(line, [&](std::string_view word) {
      if (words < 2) ends[words] = word;
      ++words;
    });
    if (words != 2) {
      ++bad_lines_;
      return;
    }
    value_.assign(1, '>').append(ends[1]);
    emit(ends[0], value_);
    value_.assign(1, '<').append(ends[0]);
    emit(ends[1], value_);
  }

  void Reduce(std::string_view vertex, auto& values, auto& emit) {
    from_.clear();
    to_.clear();
    for (const std::string_view value : values) (value[0] == '<' ? from_ : to_).emplace_back(value.substr(1));
    line_.clear();
    AppendList(&from_);
    line_ += '\t';
    AppendList(&to_);
    emit(vertex, line_);
  }

 private:
  void AppendList(std::vector<std::string>* vertices) {
    std::ranges::sort(*vertices);
    vertices->erase(std::unique(vertices->begin(), vertices->end()), vertices->end());
    for (const std::string& vertex : *vertices) {
      if (&vertex != vertices->data()) line_ += ',';
      line_ += vertex;
    }
  }

  Counter& bad_lines_;
  std::string value_, line_;
  std::vector<std::string> from_, to_;
};

}  // namespace millrace::examples
