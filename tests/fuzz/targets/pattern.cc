// SPDX-License-Identifier: Apache-2.0
// Patterns in paths, which anybody may send to a master, against names.
#include "dfs/wire/pattern.h"

#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  const std::string head("\x08\0", 2);
  return {head + "part-r-0part-*", head + "part-r-0{a,part-[!x]-?}", head + "a*b?c[d]\\*\\?\\[",
          head + "[[:alpha:]]{,{,}}"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Draw draw(fuzz::View(data, size));
  const std::string name = draw.Text(255);
  const std::string_view pattern = draw.rest().substr(0, 4096);
  const auto alternatives = dfs::AlternativesOf(pattern);
  if (!alternatives.ok()) {
    fuzz::Require(alternatives.status().message().find('\n') == std::string::npos, "an error of two lines");
    return 0;
  }
  fuzz::Require(!alternatives->empty() && alternatives->size() <= dfs::kMostAlternatives, "how many there are");
  for (const std::string& each : *alternatives) {
    const dfs::NamePattern one(each);
    const bool matches = one.Matches(name);
    fuzz::Require(!one.literal() || matches == (one.text() == name), "a literal is not its text");
    fuzz::Require(!matches || each.ends_with('\\') || dfs::NamePattern(each + "*").Matches(name),
                  "a star takes something away");
  }
  const dfs::NamePattern itself(dfs::EscapePattern(name));
  fuzz::Require(!dfs::HasPattern(name) || (itself.literal() && itself.text() == name), "an escaped name is another");
  fuzz::Require(dfs::AlternativesOf(dfs::EscapePattern(name))->size() == 1, "an escaped name is several");
  fuzz::Require(dfs::NamePattern("*").Matches(name), "a star does not match a name");
  return 0;
}
