// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "base/tls/peer_identity.h"

namespace millrace::tls {
namespace {

TEST(PeerIdentity, IsReadFromTheCommonNameAndWrittenAgain) {
  for (const char* name :
       {"master", "worker:w1", "worker:ip-10-0-0-7.ec2.internal", "client:ann", "client:ann@example.org", "task:ann"}) {
    const Result<PeerIdentity> identity = ParseIdentity(name);
    ASSERT_TRUE(identity.ok()) << name;
    EXPECT_EQ(ToText(*identity), name);
  }
  EXPECT_EQ(ParseIdentity("client:ann")->user(), "ann");
  EXPECT_EQ(ParseIdentity("task:ann")->user(), "ann");
  EXPECT_EQ(ParseIdentity("worker:ann")->user(), "");
}

TEST(PeerIdentity, IsNothingElse) {
  const std::string nul("client:ann\0", 11);
  for (const std::string& name :
       {std::string(), std::string("anyone"), std::string("master:x"), std::string("worker"), std::string("worker:"),
        std::string("client:-x"), std::string("client:../x"), std::string("client:a/b"), std::string("client:a b"),
        std::string("Client:ann"), std::string("client:ann\n"), nul, "client:" + std::string(49, 'a')}) {
    EXPECT_EQ(ParseIdentity(name).status().code(), StatusCode::kInvalid) << name;
  }
  EXPECT_TRUE(ParseIdentity("client:" + std::string(48, 'a')).ok());
}

}  // namespace
}  // namespace millrace::tls
