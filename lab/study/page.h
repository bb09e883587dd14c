// SPDX-License-Identifier: Apache-2.0
// The page with the experiments' tables: docs/schedulers/papers.md. Where a table stands, the page has
//
//   <!-- table sticky-slots/figure-5 -->
//   (the table)
//   <!-- end of table -->
//
// and the rest of the page is written by hand. Thread rule: any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace millrace::sim::experiments {

// The text between the marks of each table, by the table's name on the page ("sticky-slots/figure-5").
using PageTables = std::map<std::string, std::string>;

// Returns the names of the tables that the page has places for, in the order of these.
[[nodiscard]] std::vector<std::string> TablesOn(const std::string& page);

// Returns the page with these tables in their places and all other text as it was. Returns kInvalid if a table has no
// place or two places, if a place has no end, or if a place names a table that is missing while others of its
// experiment are given.
// Lines end in a newline, or in a carriage return and a newline; the last one may end in neither.
[[nodiscard]] Result<std::string> PutTables(const std::string& page, const PageTables& tables);

// Returns the text of the page at this path; kInvalid if it is not a regular file, since reading one might never end.
// Also returns the errors of reading it.
[[nodiscard]] Result<std::string> ReadPage(const std::string& path);
// Returns kInvalid if the page at this path has not the marks of exactly these tables, as PutTables says, and the
// errors of ReadPage.
[[nodiscard]] Status CheckMarks(const std::string& path, const std::vector<std::string>& names);
// Puts the tables into the page at this path. Also returns the errors of reading and writing it.
[[nodiscard]] Status WritePage(const std::string& path, const PageTables& tables);
// Returns kInvalid, with the first line that differs, if the page at this path has other tables. `mend` is the command
// that writes it. Also returns the errors of reading the page and of PutTables.
[[nodiscard]] Status CheckPage(const std::string& path, const PageTables& tables, const std::string& mend);

}  // namespace millrace::sim::experiments
