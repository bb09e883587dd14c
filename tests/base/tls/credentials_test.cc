#include "base/tls/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/file.h"
#include "base/tls/authority.h"
#include "base/tls/context.h"
#include "tests/base/tls/tls_fixture.h"

namespace millrace::tls {
namespace {

using ::testing::HasSubstr;

struct Files {
  Files() : directory(TempDir::Make("millrace-tls").value()), files(TlsFilesIn(directory.path())) {}
  void Put(const CredentialTexts& texts) const {
    ASSERT_TRUE(WriteFileDurably(files.ca, texts.authorities).ok());
    ASSERT_TRUE(WriteFileDurably(files.certificate, texts.own.certificate).ok());
    ASSERT_TRUE(WriteFileDurably(files.key, texts.own.key).ok());
  }
  TempDir directory;
  TlsFiles files;
};

TEST(Credentials, AreReadAgainWhenTheFilesChange) {
  const TestAuthority authority;
  const Files at;
  at.Put(authority.TextsOf("worker:old"));
  const auto credentials = Credentials::Load(at.files, MakeSilentLog()).value();
  const auto before = credentials->Current();
  EXPECT_EQ(credentials->Current(), before);
  at.Put(authority.TextsOf("worker:new"));
  EXPECT_NE(credentials->Current(), before);
  EXPECT_EQ(ToText(credentials->self()), "worker:new");
}

TEST(Credentials, StayInForceWhileTheNewOnesAreBroken) {
  const TestAuthority authority;
  const Files at;
  at.Put(authority.TextsOf("worker:old"));
  const auto credentials = Credentials::Load(at.files, MakeSilentLog()).value();
  ASSERT_TRUE(WriteFileDurably(at.files.certificate, "half a certifi").ok());
  EXPECT_EQ(ToText(credentials->self()), "worker:old");
  const CredentialTexts next = authority.TextsOf("worker:new");
  ASSERT_TRUE(WriteFileDurably(at.files.certificate, next.own.certificate).ok());  // its key is still to come
  EXPECT_EQ(ToText(credentials->self()), "worker:old");
  ASSERT_TRUE(WriteFileDurably(at.files.key, next.own.key).ok());
  EXPECT_EQ(ToText(credentials->self()), "worker:new");
}

TEST(Credentials, OfSeveralKeysTheOneOfTheCertificateIsTaken) {
  const TestAuthority authority;
  CredentialTexts texts = authority.TextsOf("worker:a");
  const std::string ours = texts.own.key, other = authority.TextsOf("worker:b").own.key;
  for (const std::string& keys : {other + ours, ours + other}) {
    texts.own.key = keys;
    EXPECT_EQ(Credentials::From(texts).value()->Current()->texts().own.key, ours);
  }
  texts.own.key = other + other;
  EXPECT_THAT(Credentials::From(texts).status().message(), HasSubstr("the key is not that of the certificate"));
}

TEST(Credentials, AreWholeAtEachMomentOfARenewal) {
  const TempDir directory = TempDir::Make("millrace-tls").value();
  Authority authority = Authority::Init(directory.path() + "/ca", {SystemClock().Now(), kHour}).value();
  const PeerIdentity ann{Role::kClient, "ann"};
  const IssuedFiles issued = authority.Issue(ann, {SystemClock().Now(), kHour}, false).value();
  std::atomic<bool> renewed = false;
  std::thread renewing([&] {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(authority.Renew(ann, {SystemClock().Now(), kHour}, true).ok());
    renewed = true;
  });
  while (!renewed) {
    const auto loaded = Credentials::Load(TlsFilesIn(issued.directory), MakeSilentLog());
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  }
  renewing.join();
  const std::string key = ReadWholeFile(issued.directory + "/key.pem").value();
  EXPECT_EQ(key.find("BEGIN"), key.rfind("BEGIN")) << "the old key goes";
}

TEST(Credentials, AreRefusedWhenTheyCannotBeUsed) {
  const TestAuthority authority;
  const Files at;
  EXPECT_FALSE(Credentials::Load(at.files, MakeSilentLog()).ok());
  CredentialTexts mixed = authority.TextsOf("master");
  mixed.own.key = authority.TextsOf("master").own.key;
  at.Put(mixed);
  EXPECT_THAT(Credentials::Load(at.files, MakeSilentLog()).status().message(),
              HasSubstr("the key is not that of the certificate"));
  CredentialTexts nothing_believed = authority.TextsOf("master");
  nothing_believed.authorities.clear();
  EXPECT_FALSE(Credentials::From(nothing_believed).ok());
}

TEST(Certificates, EndWithTheirAuthorityAtTheLatest) {
  const Micros now = SystemClock().Now();
  const KeyPair authority = MakeAuthority({now, 24 * kHour}).value();
  const KeyPair issued = Issue(authority, {Role::kMaster, {}}, {now, 1000 * kHour}).value();
  const CertificateFacts facts = ReadFacts(issued.certificate, "it").value();
  EXPECT_EQ(facts.common_name, "master");
  EXPECT_EQ(facts.until, ReadFacts(authority.certificate, "it")->until);
  EXPECT_EQ(facts.until / kSecond, (now + 24 * kHour) / kSecond);
  EXPECT_EQ(facts.from / kSecond, (now - kHour) / kSecond);
}

TEST(Certificates, OfAnAuthorityThatWasRenewedStayGood) {
  TestAuthority authority;
  const auto client = authority.Of("client:ann");
  authority.pair = RenewAuthority(authority.pair, {SystemClock().Now(), 48 * kHour}).value();
  JoinedSessions joined(client, authority.Of("master"));
  joined.Handshake();
  EXPECT_TRUE(joined.server_done.ok() && *joined.server_done) << joined.server_done.status().message();
}

TEST(TlsFiles, AreAllGivenOrNone) {
  EXPECT_TRUE(CheckTlsFiles({}).ok());
  EXPECT_TRUE(CheckTlsFiles({"a", "b", "c"}).ok());
  EXPECT_THAT(CheckTlsFiles({"a", "b", ""}).message(), HasSubstr("tls.key is not set"));
}

}  // namespace
}  // namespace millrace::tls
