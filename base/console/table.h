// SPDX-License-Identifier: Apache-2.0
// Tables that fit a given width: columns of little worth are left out, and long texts are cut, before a line would be
// wrapped. Pure, but for TableWidth and TerminalWidth. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/console/console.h"

namespace millrace::console {

inline constexpr int kAlwaysShown = 1'000;

struct Column {
  std::string head;
  int worth = kAlwaysShown;  // where there is too little room, the columns of the least worth are left out
  std::size_t least = 0;     // the cells may be cut to this many places; 0: they are not cut
};

// Returns the table: the heads (if `with_head`), then the rows, two spaces between columns and none at the ends of
// lines. Cells are made printable (base/text.h). If `width` is not 0, no line takes more places of a terminal: a column
// whose cells are all empty goes first, then those of the least worth, and then cells are cut, which ".." at their ends
// shows. Requires: each row has a cell for each column.
[[nodiscard]] std::string LayOut(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                                 std::size_t width, bool with_head = true);

// Returns how many places of a terminal the text takes: two for a letter of East Asia, none for an accent of its own.
[[nodiscard]] std::size_t PlacesOf(std::string_view text);

// Returns the printable text, or its beginning with ".." at its end if the text takes more places than these.
[[nodiscard]] std::string Fit(const std::string& text, std::size_t places);

// Returns the columns of the terminal; 80 if it does not tell.
[[nodiscard]] std::size_t TerminalWidth(int fd);
// Returns the width for tables on standard output: 0, any width, into a pipe or a file, or if the user wants all of it.
[[nodiscard]] std::size_t TableWidth(const Console& console, bool wide);

}  // namespace millrace::console
