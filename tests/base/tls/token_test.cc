// SPDX-License-Identifier: Apache-2.0
#include "base/tls/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/tls/certificates.h"

namespace millrace::tls {
namespace {

using testing::HasSubstr;

constexpr Micros kNow = 1'800'000'000 * kSecond;

TEST(Token, IsGoodForOneBlockOneSubjectAndOneTime) {
  const TokenKey key(std::string(TokenKey::kBytes, 'k'));
  const std::string token = key.MakeToken(17, "ann", kNow + kHour);
  EXPECT_TRUE(key.Check(token, 17, "ann", kNow).ok());
  EXPECT_TRUE(key.Check(token, 17, "", kNow).ok()) << "where nobody's certificate is known";
  EXPECT_EQ(key.Check(token, 17, "bob", kNow).message(), "the token is for ann");
  EXPECT_THAT(key.Check(token, 18, "ann", kNow).message(),
              HasSubstr("not one that the master has made for this block"));
  EXPECT_TRUE(key.Check(token, 17, "ann", kNow + kHour - kSecond).ok());
  EXPECT_THAT(key.Check(token, 17, "ann", kNow + kHour).message(), HasSubstr("has expired"));
  EXPECT_THAT(key.Check(token, 17, "ann", kNow + kHour).message(), HasSubstr("here it is " + TimeText(kNow + kHour)));
  EXPECT_FALSE(TokenKey(std::string(TokenKey::kBytes, 'l')).Check(token, 17, "ann", kNow).ok());
  EXPECT_THAT(key.Check("", 17, "ann", kNow).message(), HasSubstr("none was shown"));
}

TEST(Token, IsGoodForOneUse) {
  const TokenKey key(TokenKey::MakeRandom());
  const std::string read = key.MakeToken(17, "ann", kNow + kHour);
  const std::string write = key.MakeToken(17, "ann", kNow + kHour, TokenUse::kWrite, "terms");
  EXPECT_FALSE(key.Check(write, 17, "ann", kNow).ok());
  EXPECT_FALSE(key.Check(key.MakeToken(17, "ann", kNow + kHour, TokenUse::kWrite), 17, "ann", kNow).ok());
  EXPECT_THAT(key.Open(read, 17, TokenUse::kWrite).status().message(), HasSubstr("for writing this block"));
  const TokenSays says = key.Open(write, 17, TokenUse::kWrite).value();
  EXPECT_EQ(says.subject, "ann");
  EXPECT_EQ(says.terms, "terms");
  EXPECT_TRUE(CheckNotEnded(says, kNow).ok());
  EXPECT_THAT(CheckNotEnded(says, kNow + 2 * kHour).message(), HasSubstr("has expired: it was valid until"));
  EXPECT_THAT(CheckNotEnded(says, kNow + 2 * kHour).message(), HasSubstr("do the clocks"));
}

TEST(Token, IsSpoiltByAnyChange) {
  const TokenKey key(TokenKey::MakeRandom());
  const std::string token = key.MakeToken(17, "ann", kNow + kHour);
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] ^= 1;
    EXPECT_FALSE(key.Check(changed, 17, "ann", kNow).ok()) << i;
    EXPECT_FALSE(key.Check(token.substr(0, i), 17, "ann", kNow).ok()) << i;
  }
  EXPECT_FALSE(key.Check(token + "x", 17, "ann", kNow).ok());
}

// The result of Python's hmac for the same bytes:
//   said = bytes([1]) + (1800003600).to_bytes(8, "little") + b"\x03ann"
//   hmac.new(b"k" * 32, b"\x0dmillrace read" + (17).to_bytes(8, "little") + bytes([13]) + said, "sha256").hexdigest()
TEST(Token, IsWhatTheFormatSays) {
  const TokenKey key(std::string(TokenKey::kBytes, 'k'));
  const std::string token = key.MakeToken(17, "ann", kNow + kHour);
  std::string hex;
  for (const char c : token.substr(13)) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(c));
    hex += digits;
  }
  EXPECT_EQ(hex, "681fda74ef33f182cc82cd1731aa8c52a072e72e680897bb79a9b7504888c514");
}

TEST(Token, IsForTheUserOfClientsAndTasksAndForTheWorkerItself) {
  EXPECT_EQ(SubjectOf({Role::kClient, "ann"}), "ann");
  EXPECT_EQ(SubjectOf({Role::kTask, "ann"}), "ann");
  EXPECT_EQ(SubjectOf({Role::kWorker, "ann"}), "worker:ann");
  EXPECT_EQ(Grant().TokenFor(1), "");
}

}  // namespace
}  // namespace millrace::tls
