// SPDX-License-Identifier: Apache-2.0
// LogPage prints logs one after the other, each of which may end without a newline: what comes next then begins on a
// line of its own. The bytes of a log are printed as they are. Thread rule: one thread.
#pragma once

#include <string_view>

#include "base/console/console.h"

namespace millrace::cli {

class LogPage {
 public:
  // Requires: `out` outlives the page.
  explicit LogPage(console::Printer& out) : out_(out) {}

  // Prints the next bytes of the present log.
  void Print(std::string_view bytes) {
    if (bytes.empty()) return;
    if (next_ && within_) out_ << "\n";
    next_ = false;
    within_ = bytes.back() != '\n';
    out_ << bytes;
  }
  // Ends the present log: what is printed next begins a line.
  void EndLog() { next_ = true; }
  [[nodiscard]] console::Printer& out() { return out_; }

 private:
  console::Printer& out_;
  bool within_ = false;  // the last line has no newline
  bool next_ = false;    // a log has ended, and nothing was printed since
};

}  // namespace millrace::cli
