// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::string_literals;

TEST(Path, BecomesCanonical) {
  const std::pair<std::string, std::string> table[] = {
      {"/", "/"},       {"//", "/"},           {"/.", "/"},          {"/a", "/a"},
      {"/a/", "/a"},    {"//a///b//", "/a/b"}, {"/a/./b/.", "/a/b"}, {"/a b\n/\xff", "/a b\n/\xff"},
      {"/...", "/..."}, {"/.a/b.", "/.a/b."},
  };
  for (const auto& [in, want] : table) {
    const Result<std::string> got = CanonicalPath(in);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(*got, want);
  }
}

TEST(Path, IsRefusedByRule) {
  const std::string longest_name(kMaxNameBytes, 'n');
  std::string longest_path;
  while (longest_path.size() + 2 <= kMaxPathBytes) longest_path += "/a";
  ASSERT_EQ(longest_path.size(), kMaxPathBytes);
  EXPECT_TRUE(CanonicalPath("/" + longest_name).ok());
  EXPECT_TRUE(CanonicalPath(longest_path + "///").ok());
  for (const std::string& in : {""s, "a"s, "a/b"s, "./a"s, "/.."s, "/a/../b"s, "/a/.."s, "/a\0b"s,
                                "/" + longest_name + "n", longest_path + "b"}) {
    const Result<std::string> got = CanonicalPath(in);
    ASSERT_FALSE(got.ok()) << in;
    EXPECT_EQ(got.status().code(), StatusCode::kInvalid);
    EXPECT_LT(got.status().message().size(), 300u);
    EXPECT_EQ(got.status().message().find('\n'), std::string::npos);
  }
  EXPECT_THAT(CanonicalPath("/x/../y").status().message(), HasSubstr("\"/x/../y\""));
}

TEST(Path, TheFirstSlashMayBeLeftOut) {
  const std::pair<std::string, std::string> table[] = {
      {"/a/", "/a"}, {"a/", "/a"},           {"a//b/.", "/a/b"}, {".", "/"},          {"x:/y", "/x:/y"},
      {":", "/:"},   {"a/b://c", "/a/b:/c"}, {"://a", "/:/a"},   {"1x://a", "/1x:/a"}};
  for (const auto& [in, want] : table) {
    const Result<std::string> got = CompletePath(in);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(*got, want);
  }
  for (const char* in : {"", "..", "a/..", "/a/.."}) EXPECT_FALSE(CompletePath(in).ok()) << in;
  EXPECT_THAT(CompletePath("../a").status().message(), HasSubstr("\"../a\"")) << "as it was given";
}

// Schemes as RFC 3986, section 3.1 writes them.
TEST(Path, AUrlIsNone) {
  for (const char* url :
       {"s3://bucket/key", "hdfs://one:9000/x", "gs://b", "file:///tmp/x", "FILE:///x", "a+b-c.d1://"}) {
    for (const Status& refused : {CanonicalPath(url).status(), CompletePath(url).status()}) {
      EXPECT_EQ(refused.code(), StatusCode::kInvalid);
      EXPECT_THAT(refused.message(), testing::AllOf(HasSubstr(url), HasSubstr("URL"), HasSubstr("millrace fs put")));
      EXPECT_LT(refused.message().size(), 300u);
    }
  }
  EXPECT_TRUE(CanonicalPath("/s3://bucket/key").ok());
}

TEST(Path, SplitsIntoParts) {
  EXPECT_THAT(SplitPath("/"), IsEmpty());
  EXPECT_THAT(SplitPath("/a/bc/d"), ElementsAre("a", "bc", "d"));
  EXPECT_EQ(ParentPath("/"), "/");
  EXPECT_EQ(ParentPath("/a"), "/");
  EXPECT_EQ(ParentPath("/a/b"), "/a");
  EXPECT_EQ(BaseName("/"), "");
  EXPECT_EQ(BaseName("/a/b"), "b");
}

TEST(Path, KnowsWhatLiesWithin) {
  EXPECT_TRUE(IsWithin("/a", "/"));
  EXPECT_TRUE(IsWithin("/", "/"));
  EXPECT_TRUE(IsWithin("/a/b", "/a"));
  EXPECT_TRUE(IsWithin("/a", "/a"));
  EXPECT_FALSE(IsWithin("/ab", "/a"));
  EXPECT_FALSE(IsWithin("/", "/a"));
  EXPECT_FALSE(IsWithin("/a", "/a/b"));
}

}  // namespace
}  // namespace millrace::dfs
