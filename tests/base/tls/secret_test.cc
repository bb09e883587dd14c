// SPDX-License-Identifier: Apache-2.0
#include "base/tls/secret.h"

#include <gtest/gtest.h>

#include <set>

namespace millrace::tls {
namespace {

TEST(SecretTest, SecretsAreHexadecimalAndDiffer) {
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) {
    const std::string secret = MakeSecret(24);
    EXPECT_EQ(secret.size(), 48U);
    EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos);
    all.insert(secret);
  }
  EXPECT_EQ(all.size(), 100U);
}

TEST(SecretTest, OnlyTheWholeSecretIsTheSame) {
  EXPECT_TRUE(SameSecret("abc", "abc"));
  for (const char* shown : {"", "ab", "abcd", "abd", "xbc", "ABC"}) EXPECT_FALSE(SameSecret(shown, "abc")) << shown;
  EXPECT_FALSE(SameSecret("", "")) << "there is no secret";
}

}  // namespace
}  // namespace millrace::tls
