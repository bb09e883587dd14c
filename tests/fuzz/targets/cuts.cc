// SPDX-License-Identifier: Apache-2.0
// The text of cuts between ranges of keys, which users may give: what is read is written and read again, and finds
// every key as counting does.
#include <algorithm>

#include "client/job/key_ranges.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  return {"", "g,n,t", "%40,%80,%C0", "http%3A%2F%2Fa%2F1,9+2,7+b,%FF", FormatCuts({"a", std::string("a\0", 2), "ab"})};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::View(data, size);
  const Result<std::vector<std::string>> cuts = ParseCuts(text);
  if (!cuts.ok()) {
    fuzz::Require(cuts.status().message().find('\n') == std::string::npos, "an error of two lines");
    return 0;
  }
  const std::string written = FormatCuts(*cuts);
  const Result<std::vector<std::string>> again = ParseCuts(written);
  fuzz::Require(again.ok(), "what is written is not read");
  fuzz::Require(written.size() > kMostCutText / 2 || *again == *cuts, "what is written is something else");
  const KeyRanges ranges(*cuts);
  const auto check = [&](std::string_view key) {
    const auto not_above = std::ranges::count_if(*cuts, [&](const std::string& cut) { return cut <= key; });
    fuzz::Require(ranges.Find(key) == static_cast<std::size_t>(not_above), "a key is in another range");
  };
  check(text);
  for (const std::string& cut : *cuts) check(cut);
  return 0;
}
