// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "examples/words/invertedindex.h"

namespace millrace::examples {
namespace {

TEST(NameListTest, NamesInOrderEachOnceHoweverTheyCome) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  NameList list;
  for (int round = 0; round < 2000; ++round) {
    const bool in_order = round % 2 == 0;
    std::set<std::string> all;
    list.Clear();
    std::uint64_t number = 100;
    for (std::uint64_t lists = 1 + random.Below(5); lists > 0; --lists) {
      std::set<std::string> names;
      for (std::uint64_t count = 1 + random.Below(4); count > 0; --count) {
        number = in_order ? number + 1 : 100 + random.Below(12);
        names.insert("a file " + std::to_string(number));
      }
      std::string joined;
      for (const std::string& name : names) joined.append(joined.empty() ? 0 : 1, '\0').append(name);
      list.Add(joined);
      all.insert(names.begin(), names.end());
    }
    std::string expected;
    for (const std::string& name : all) expected.append(expected.empty() ? 0 : 1, ',').append(name);
    ASSERT_EQ(list.Join(','), expected);
  }
}

TEST(NameListTest, ANameThatBeginsAnotherComesBeforeIt) {
  NameList list;
  list.Add("ab");
  list.Add("a");
  EXPECT_EQ(list.Join(' '), "a ab");
}

}  // namespace
}  // namespace millrace::examples
