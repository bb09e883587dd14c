// What kind of text a file holds, as JoSS tells it when the file is written (section 4.3 there): "web" if its first
// lines hold many tags in angle brackets, else "text". The same program leaves another share of its input from one kind
// than from the other, so the kind is part of the key of the history (job_history.h).
//
// The rule: of the first kInputTypeLines lines that are not blank (and of the first kInputTypeBytes bytes at most),
// count the tags: '<', perhaps '/', '!' or '?', a letter, letters, digits, '-' and ':', then white space or '/' or '?'
// or '>', and a '>' before the next '<' and the end of the line. "web" is what has at least 3 tags, and one for every
// two of the lines.
//
// A pure function.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::sched {

inline constexpr std::size_t kInputTypeBytes = 4096;
inline constexpr std::size_t kInputTypeLines = 50;

// "web" or "text". first_bytes: the file from its start, at least kInputTypeBytes unless it is shorter; more is not
// looked at. Bytes of any kind.
[[nodiscard]] std::string_view InputType(std::string_view first_bytes);

}  // namespace millrace::sched
