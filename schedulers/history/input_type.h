// InputType: the kind of text in a file, which JoSS finds when the file is written (section 4.3 there): "web" if its
// first lines hold many tags in angle brackets, else "text". A program's ratio of output to input differs between the
// two kinds, so the kind is part of the key of the history (job_history.h).
//
// The rule: of the first kInputTypeLines lines that are not blank (and of the first kInputTypeBytes bytes at most),
// count the tags: '<', perhaps '/', '!' or '?', a letter, letters, digits, '-' and ':', then white space or '/' or '?'
// or '>', and a '>' before the next '<' and the end of the line. The file is "web" if it has at least 3 tags, and one
// for every two of the lines.
//
// It is a pure function.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::sched {

inline constexpr std::size_t kInputTypeBytes = 4096;
inline constexpr std::size_t kInputTypeLines = 50;

// Returns "web" or "text". `first_bytes` may be any bytes; bytes after the first kInputTypeBytes are not looked at.
// Requires: `first_bytes` is the start of the file, at least kInputTypeBytes of it unless the file is shorter.
[[nodiscard]] std::string_view InputType(std::string_view first_bytes);

}  // namespace millrace::sched
