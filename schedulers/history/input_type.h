// SPDX-License-Identifier: Apache-2.0
// InputType: the kind of text in a file, found when a job that reads it is submitted (JoSS, section 4.3 of its paper).
// A file is "web" if its first lines contain many tags in angle brackets, else "text". A program's ratio of output to
// input differs between the two kinds, so the kind is part of the key of the history (job_history.h).
//
// The rule looks at the first kInputTypeLines lines that are not blank, within the first kInputTypeBytes bytes. A tag
// is '<', an optional '/', '!' or '?', and a name: a letter, then letters, digits, '-' and ':'. White space, '/', '?'
// or '>' follows the name, and a '>' comes before the next '<' and before the end of the line. The file is "web" if
// these lines have at least 3 tags, and at least one tag for every two lines.
//
// It is a pure function.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::sched {

inline constexpr std::size_t kInputTypeBytes = 4096;
inline constexpr std::size_t kInputTypeLines = 50;

// Returns "web" or "text". `first_bytes` may be any bytes; those after the first kInputTypeBytes are ignored. Requires:
// `first_bytes` is the start of the file, at least kInputTypeBytes of it unless the file is shorter.
[[nodiscard]] std::string_view InputType(std::string_view first_bytes);

}  // namespace millrace::sched
