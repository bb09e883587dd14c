// SPDX-License-Identifier: Apache-2.0
// Reads DNA sequences, which are words, and takes every three consecutive sequences of a file. It writes a line
// "s1|s2|s3" for each sequence except the last two, sorted. Nothing is combined and nothing is dropped, so three times
// the input goes to the reduces and into the output. (Permu is one of the benchmarks of Lee, Lin and Yahyapour, "Hybrid
// Job-Driven Scheduling for Virtual MapReduce Clusters", which says that it "generates the permutation for three
// consecutive DNA sequences" and that its maps write three times what they read.)
#pragma once

#include <string_view>

#include "client/api/job.h"
#include "examples/words/word_sequences.h"

namespace millrace::examples {

struct Permu {
  using Input = WordSequences<3>;
  using Key = std::string_view;
  using Value = Nothing;

  void Map(const WordSequence<3>& triple, auto& emit) { emit(triple.text); }
};

}  // namespace millrace::examples
