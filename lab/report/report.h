// SPDX-License-Identifier: Apache-2.0
// The report of a comparison: one HTML file that a browser opens from disk, without a network.
//
// The file holds everything: the page, its style and scripts (lab/report/page), the chart library
// (lab/report/vendor) and the document of docs/schedulers/comparison.md, from which the scripts draw when the file
// is opened. Whoever has the report has the figures, too: the page offers the document for download, and a program
// finds it as base64 of gzip, alone on its line, in <script id="document" type="application/json+gzip">. Packed in this
// way the document is a quarter as large, and no name in it can end or start an element of the page. A document with
// members that are missing or null makes a report that leaves out what it cannot show. Thread rule: free functions, any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace millrace::report {

// Returns the whole file. Returns kInvalid if `document` is not a JSON object, since the page could show nothing.
[[nodiscard]] Result<std::string> Page(std::string_view document);

// Writes Page(document) to `path`, durably: after a crash the old file or the new one exists.
[[nodiscard]] Status WriteReport(std::string_view document, const std::string& path);

// Packs a text as base64 of gzip: a document shrinks to a quarter, in letters that mean nothing to HTML or JavaScript.
// Returns `text` compressed (RFC 1952) and then in the letters of RFC 4648, section 4, with padding, on one line.
// Requires: `text` has less than 4 GiB.
[[nodiscard]] std::string Packed(std::string_view text);

}  // namespace millrace::report
