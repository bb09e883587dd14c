// A page with the experiments' tables in it: docs/papers.md. Where a table stands, the page has
//
//   <!-- table sticky-slots/figure-5 -->
//   (the table)
//   <!-- end of table -->
//
// and all else on it is written by hand. Thread rule: any thread.
#pragma once

#include <map>
#include <string>

#include "base/status.h"

namespace millrace::sim::experiments {

// Of a table as the page names it ("sticky-slots/figure-5"), what stands between its marks.
using PageTables = std::map<std::string, std::string>;

// Returns the page with these tables in their places and all other text as it was. Returns kInvalid if one of the
// tables has no place or two of them, a place has no end, or there is a place for a table that is not among these
// though others of its experiment are.
[[nodiscard]] Result<std::string> PutTables(const std::string& page, const PageTables& tables);

}  // namespace millrace::sim::experiments
