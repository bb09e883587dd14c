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
