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

#include "base/status.h"

namespace millrace::sim::experiments {

// The text between the marks of each table, by the table's name on the page ("sticky-slots/figure-5").
using PageTables = std::map<std::string, std::string>;

// Returns the page with these tables in their places and all other text as it was. Returns kInvalid if a table has no
// place or two places, if a place has no end, or if a place names a table that is missing while others of its
// experiment are given.
[[nodiscard]] Result<std::string> PutTables(const std::string& page, const PageTables& tables);

// Puts the tables into the page at this path. Also returns the errors of reading and writing it.
[[nodiscard]] Status WritePage(const std::string& path, const PageTables& tables);
// Returns kInvalid, with the first line that differs, if the page at this path has other tables. `mend` is the command
// that writes it. Also returns the errors of reading the page and of PutTables.
[[nodiscard]] Status CheckPage(const std::string& path, const PageTables& tables, const std::string& mend);

}  // namespace millrace::sim::experiments
