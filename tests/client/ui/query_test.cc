// SPDX-License-Identifier: Apache-2.0
#include "client/ui/query.h"

#include <gtest/gtest.h>

namespace millrace::ui {
namespace {

TEST(QueryTest, Parts) {
  const Query query("/api/v1/files?path=%2Fa%20b+c&live&x=1=2&x=3&%zz=%4");
  EXPECT_EQ(query.path(), "/api/v1/files");
  EXPECT_EQ(query.Get("path"), "/a b c");
  EXPECT_TRUE(query.Has("live"));
  EXPECT_EQ(query.Get("live"), "");
  EXPECT_EQ(query.Get("x"), "1=2") << "the first one";
  EXPECT_EQ(query.Get("%zz"), "%4");
  EXPECT_FALSE(query.Has("y"));
  EXPECT_EQ(Query("").path(), "");
  EXPECT_EQ(Query("/?").path(), "/");
  EXPECT_EQ(Query("/?&&=").Get(""), "");
}

TEST(QueryTest, Numbers) {
  const Query query("/?a=12&b=-1&c=12x&d=&e=18446744073709551616");
  EXPECT_EQ(*query.Number("a", 0, 12), 12U);
  EXPECT_EQ(*query.Number("none", 7, 10), 7U);
  EXPECT_FALSE(query.Number("a", 0, 11).ok());
  for (const char* name : {"b", "c", "d", "e"})
    EXPECT_EQ(query.Number(name, 0, ~std::uint64_t{0}).status().code(), StatusCode::kInvalid) << name;
}

TEST(QueryTest, UnknownNamesAreSaid) {
  EXPECT_TRUE(Query("/?a=1&b").CheckNames({"a", "b", "c"}).ok());
  const Status unknown = Query("/?a=1&lvie").CheckNames({"a", "live"});
  EXPECT_EQ(unknown.code(), StatusCode::kInvalid);
  EXPECT_NE(unknown.message().find("lvie"), std::string::npos);
  EXPECT_NE(unknown.message().find("a, live"), std::string::npos);
}

}  // namespace
}  // namespace millrace::ui
