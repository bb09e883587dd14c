// SPDX-License-Identifier: Apache-2.0
// Draws a Picture: as lines that fit a terminal, and as text for scripts. All texts are made printable (base/text.h),
// since names of jobs, users and pools come from anywhere: no byte of theirs can move the cursor. Pure. Thread rule:
// any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/top/picture.h"

namespace millrace::top {

struct Size {
  std::size_t columns = 80, rows = 24;
};

enum class Style { kPlain, kBold, kReverse, kDim };

struct Line {
  std::string text;  // printable, of at most Size::columns places
  Style style = Style::kPlain;
  bool operator==(const Line&) const = default;
};

// Returns the lines of the screen, at most Size::rows of them. `now` is the time of this machine. Only the rows that
// are shown are laid out, so the cost grows with the size of the terminal, but for the sorting.
[[nodiscard]] std::vector<Line> Draw(const Picture& picture, const State& state, Size size, Micros now);

// Returns what writes the lines on a terminal of this size over those that are there.
[[nodiscard]] std::string Paint(const std::vector<Line>& lines, Size size);

// Returns the summary, and the tables of all jobs, pools and nodes, in lines of at most `columns` places, without
// escapes.
[[nodiscard]] std::string Whole(const Picture& picture, std::size_t columns);

// Returns the jobs in the order in which they are shown.
[[nodiscard]] std::vector<JobId> JobsInOrder(const Picture& picture, const State& state);
// Returns the number of rows and of columns of the view.
[[nodiscard]] std::size_t RowsOf(const Picture& picture, View view);
[[nodiscard]] std::size_t ColumnsOf(View view);

}  // namespace millrace::top
