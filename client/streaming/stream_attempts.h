// SPDX-License-Identifier: Apache-2.0
// Runs the maps and reduces of a streaming job whose children read records and write records: one child for each file
// or block of a map's input, and one for a reduce. (Children that live longer: frame_attempts.h.)
// Thread rule: the task's thread.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "client/job/attempt.h"
#include "client/streaming/attempt_child.h"
#include "client/streaming/settings.h"

namespace millrace::streaming {

// What the maps of a job read.
enum class InputForm {
  kLines,    // lines of text
  kRecords,  // record files
  kFiles,    // whole files, decompressed, as they are
  kTables,   // files of which a child asks for the parts that it needs (frame_child.h)
};

// What the maps read of each INPUT; a single form is that of all of them.
using InputForms = std::vector<InputForm>;
// Requires: there is a form for the INPUT.
[[nodiscard]] inline InputForm FormOf(const InputForms& forms, std::size_t index) {
  return forms.size() == 1 ? forms.front() : forms[index];
}

[[nodiscard]] Status StreamMap(const ProcessFacts& facts, const InputForms& forms, MapAttempt& attempt);
[[nodiscard]] Status StreamReduce(const ProcessFacts& facts, ReduceAttempt& attempt);

}  // namespace millrace::streaming
