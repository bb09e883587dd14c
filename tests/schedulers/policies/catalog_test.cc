// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/catalog.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace millrace::sched {
namespace {

TEST(Catalog, EachListedPolicyIsMadeUnderItsName) {
  std::set<std::string> names;
  for (const PolicyInfo& info : ListPolicies()) {
    std::string why;
    const auto policy = MakePolicy(info.name, {}, &why);
    ASSERT_NE(policy, nullptr) << why;
    EXPECT_EQ(policy->name(), info.name);
    EXPECT_FALSE(info.one_line.empty());
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " is listed twice";
  }
  EXPECT_TRUE(names.contains("fifo"));
}

TEST(Catalog, AnUnknownNameIsAnsweredWithThoseThatExist) {
  std::string why;
  EXPECT_EQ(MakePolicy("no-such", {}, &why), nullptr);
  EXPECT_NE(why.find("\"no-such\""), std::string::npos) << why;
  for (const PolicyInfo& info : ListPolicies()) EXPECT_NE(why.find(info.name), std::string::npos) << why;
}

// Each refusal says what to use instead, which can be made.
TEST(Catalog, APartThatDoesNotGoWithAPolicyIsRefusedWithTheReason) {
  for (const PolicyInfo& info : ListPolicies()) {
    EXPECT_EQ(info.parts.size() + info.refused.size(), 4u) << info.name;
    for (const std::string& part : info.parts) {
      std::string why;
      EXPECT_NE(MakePolicy(info.name + '+' + part, {}, &why), nullptr) << why;
    }
    for (const PolicyInfo::RefusedPart& refused : info.refused) {
      std::string why;
      EXPECT_EQ(MakePolicy(info.name + '+' + refused.name, {}, &why), nullptr);
      EXPECT_EQ(why, '"' + refused.name + "\" does not go with \"" + info.name + "\": " + refused.why);
      const std::size_t use = refused.why.find("; use ");
      ASSERT_NE(use, std::string::npos) << refused.why;
      const std::string instead = refused.why.substr(use + 6);
      EXPECT_NE(MakePolicy(instead, {}, &why), nullptr) << why;
      EXPECT_TRUE(instead.ends_with('+' + refused.name)) << instead;
    }
  }
}

TEST(Catalog, APartHasAName) {
  for (const char* expression : {"fair+", "fair++delay", "fair+delay+", "+", ""}) {
    std::string why;
    EXPECT_EQ(MakePolicy(expression, {}, &why), nullptr) << expression;
    EXPECT_NE(why.find("\"\""), std::string::npos) << why;
  }
}

struct MySettings {
  static constexpr std::string_view kSection = "mine";
  static constexpr std::string_view kOneLine = "Of one policy.";
};
struct OtherSettings {
  static constexpr std::string_view kSection = "mine";
  static constexpr std::string_view kOneLine = "Of another.";
};
void Declare(KeyList&, MySettings&) {}
void Declare(KeyList&, OtherSettings&) {}

// catalog.cc does not compile with two such sections: it asserts NamedOnce.
TEST(Catalog, TwoPoliciesCannotDeclareOneSection) {
  constexpr Section kFirst = FixedSection<MySettings>();
  constexpr Section kTwice[] = {kFirst, FixedSection<OtherSettings>()};
  constexpr Section kTwiceWithNames[] = {kFirst, NamedSection<OtherSettings>()};
  static_assert(NamedOnce({&kFirst, 1}));
  static_assert(!NamedOnce(kTwice));
  static_assert(!NamedOnce(kTwiceWithNames));

  std::set<std::string_view> names;
  for (const Section& section : ListSections()) {
    EXPECT_TRUE(names.insert(section.name).second) << section.name << " is listed twice";
    EXPECT_FALSE(section.one_line.empty()) << section.name;
  }
  EXPECT_TRUE(names.contains("fair"));
}

}  // namespace
}  // namespace millrace::sched
