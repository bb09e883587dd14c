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
