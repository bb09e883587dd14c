#include "schedulers/policies/catalog.h"

#include <gtest/gtest.h>

#include <set>

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
  EXPECT_EQ(MakePolicy("lifo", {}, &why), nullptr);
  EXPECT_NE(why.find("\"lifo\""), std::string::npos) << why;
  for (const PolicyInfo& info : ListPolicies()) EXPECT_NE(why.find(info.name), std::string::npos) << why;
}

}  // namespace
}  // namespace millrace::sched
