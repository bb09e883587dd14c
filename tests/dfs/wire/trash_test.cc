// SPDX-License-Identifier: Apache-2.0
// Tests the stamps of deletions. The expected times are those of `date -u -d @SECONDS`.
#include "dfs/wire/trash.h"

#include <gtest/gtest.h>

namespace millrace::dfs {
namespace {

TEST(TrashStamp, ShowsTheTimeInUtcWithItsMicroseconds) {
  EXPECT_EQ(TrashStamp(1'795'844'762'123'456), "20261128T054602.123456Z");
  EXPECT_EQ(TrashStamp(951'827'696'000'007), "20000229T123456.000007Z");
  EXPECT_EQ(TrashStamp(0), "19700101T000000.000000Z");
  EXPECT_EQ(TrashStamp(253'402'300'799 * kSecond), "99991231T235959.000000Z");
}

TEST(TrashStamp, IsReadBack) {
  for (const Micros time : {Micros{0}, Micros{1}, Micros{951'827'696'000'007}, Micros{1'795'844'762'123'456}})
    EXPECT_EQ(ParseTrashStamp(TrashStamp(time)), time);
}

TEST(TrashStamp, NothingElseIsOne) {
  for (const char* text :
       {"", "20261128T054602.123456", "20261128 054602.123456Z", "20261328T054602.123456Z", "20261131T054602.123456Z",
        "20261128T244602.123456Z", "20261128T056002.123456Z", "20261128T054660.123456Z", "2026112 T054602.123456Z",
        "20261128T054602.12345xZ", "20261128T054602,123456Z", "+0261128T054602.123456Z", "20261128T054602.123456Zx"}) {
    EXPECT_FALSE(ParseTrashStamp(text).has_value()) << text;
  }
}

TEST(TrashPath, IsTheDirectoryAndWhatLiesBelow) {
  for (const char* path : {"/.trash", "/.trash/ann", "/.trash/ann/x/y"}) EXPECT_TRUE(IsTrash(path)) << path;
  for (const char* path : {"/", "/.trashes", "/data/.trash", "/.tras"}) EXPECT_FALSE(IsTrash(path)) << path;
}

}  // namespace
}  // namespace millrace::dfs
