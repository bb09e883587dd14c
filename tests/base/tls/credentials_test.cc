// SPDX-License-Identifier: Apache-2.0
#include "base/tls/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/file.h"
#include "base/tls/authority.h"
#include "base/tls/context.h"
#include "base/tls/tls_files.h"
#include "tests/base/tls/tls_fixture.h"

namespace millrace::tls {
namespace {

using ::testing::HasSubstr;

struct Files {
  Files() : directory(TempDir::Make("millrace-tls").value()), files(TlsFilesIn(directory.path())) {}
  void Put(const CredentialTexts& texts) const {
    ASSERT_TRUE(WriteFileDurably(files.ca, texts.authorities).ok());
    ASSERT_TRUE(WriteFileDurably(files.certificate, texts.own.certificate).ok());
    ASSERT_TRUE(PutFile(files.key, texts.own.key, kForOwner, true).ok());
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
  ASSERT_TRUE(PutFile(at.files.key, next.own.key, kForOwner, true).ok());
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

TEST(Credentials, AKeyThatOthersMayReadIsRefusedAndTakenOnceItIsPrivate) {
  const TestAuthority authority;
  const Files at;
  at.Put(authority.TextsOf("client:ann"));
  for (const int mode : {0640, 0604, 0660, 0666, 0610}) {
    ASSERT_EQ(::chmod(at.files.key.c_str(), static_cast<mode_t>(mode)), 0);
    const Status refused = Credentials::Load(at.files, MakeSilentLog()).status();
    EXPECT_EQ(refused.code(), StatusCode::kDenied) << mode;
    EXPECT_THAT(refused.message(), HasSubstr("run `chmod 600 " + at.files.key + "`"));
  }
  for (const int mode : {0600, 0400}) {
    ASSERT_EQ(::chmod(at.files.key.c_str(), static_cast<mode_t>(mode)), 0);
    EXPECT_TRUE(Credentials::Load(at.files, MakeSilentLog()).ok()) << mode;
  }
  // In a renewal that forgot it the old one stays in force, and a chmod alone is enough.
  const auto credentials = Credentials::Load(at.files, MakeSilentLog()).value();
  at.Put(authority.TextsOf("client:bob"));
  ASSERT_EQ(::chmod(at.files.key.c_str(), 0644), 0);
  EXPECT_EQ(ToText(credentials->self()), "client:ann");
  ASSERT_EQ(::chmod(at.files.key.c_str(), 0600), 0);
  EXPECT_EQ(ToText(credentials->self()), "client:bob");
}

TEST(Credentials, OfTasksLastADayAndNoLongerThanTheirWorkers) {
  const TestAuthority authority;
  const auto until = [&](Micros age) {
    const Micros now = SystemClock().Now();
    const KeyPair task = authority.Of("worker:w1", age)->ForTask("ann", now).value().own;
    return ReadFacts(task.certificate, "task")->until - now;
  };
  EXPECT_NEAR(static_cast<double>(until(0)), static_cast<double>(24 * kHour), 2.0 * kSecond);
  EXPECT_NEAR(static_cast<double>(until(20 * kHour)), static_cast<double>(4 * kHour), 2.0 * kSecond);
}

// A job can print what its tasks were given, so a worker that is good for a year must not make it so.
TEST(Credentials, OfTasksLastADayThoughTheirWorkerLastsAYear) {
  constexpr Micros kYear = 365 * 24 * kHour;
  const Micros now = SystemClock().Now();
  const KeyPair authority = MakeAuthority({now, kYear}).value();
  const KeyPair worker = Issue(authority, ParseIdentity("worker:w1").value(), {now, kYear}).value();
  const KeyPair task = Credentials::From({authority.certificate, worker}).value()->ForTask("ann", now).value().own;
  const Micros lasts = ReadFacts(task.certificate, "task")->until - now;
  EXPECT_NEAR(static_cast<double>(lasts), static_cast<double>(24 * kHour), 2.0 * kSecond);
}

TEST(Credentials, FromTextsAreReplacedByOthers) {
  const TestAuthority authority;
  const auto credentials = authority.Of("client:ann");
  EXPECT_TRUE(credentials->Replace(authority.TextsOf("client:bob")).ok());
  EXPECT_EQ(ToText(credentials->self()), "client:bob");
  EXPECT_FALSE(credentials->Replace({"no", {"such", "texts"}}).ok());
  EXPECT_EQ(ToText(credentials->self()), "client:bob");
}

class AuthorityTest : public ::testing::Test {
 protected:
  Status IssueToAnn() {
    Result<Authority> authority = Authority::Open(path_);
    return authority.ok() ? authority->Issue(ann_, now_, true).status() : authority.status();
  }

  const TempDir directory_ = TempDir::Make("millrace-ca").value();
  const std::string path_ = directory_.path() + "/ca";
  const PeerIdentity ann_{Role::kClient, "ann"};
  const Validity now_{SystemClock().Now(), kHour};
  const Result<Authority> made_ = Authority::Init(path_, now_);
};

// The files are those that an attempt has written before it is killed.
TEST_F(AuthorityTest, AnAttemptThatWasKilledIsRepeatedOrFinished) {
  ASSERT_TRUE(made_.ok());
  const std::string key = path_ + "/ca-key.pem", begun = key + ".new", certificate = path_ + "/ca.pem";
  const std::string whole = ReadWholeFile(key).value();
  ASSERT_EQ(::rename(key.c_str(), begun.c_str()), 0);
  ASSERT_TRUE(Authority::Init(path_, now_).ok()) << "with a certificate";
  EXPECT_EQ(ReadWholeFile(key).value(), whole);
  EXPECT_EQ(Authority::Init(path_, now_).status().code(), StatusCode::kExists);

  ASSERT_EQ(::rename(key.c_str(), begun.c_str()), 0);
  ASSERT_EQ(::unlink(certificate.c_str()), 0);
  ASSERT_TRUE(Authority::Init(path_, now_).ok()) << "without one";
  EXPECT_NE(ReadWholeFile(key).value(), whole);
  EXPECT_EQ(ReadWholeFile(begun).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(Authority::Open(path_).ok());

  ASSERT_EQ(::unlink(key.c_str()), 0);
  EXPECT_EQ(Authority::Init(path_, now_).status().code(), StatusCode::kExists) << "the key may be kept elsewhere";
}

TEST_F(AuthorityTest, ALinkInItsDirectoryIsNotFollowed) {
  ASSERT_TRUE(made_.ok());
  const std::string elsewhere = directory_.path() + "/elsewhere";
  ASSERT_EQ(::mkdir(elsewhere.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(elsewhere.c_str(), (path_ + "/client-ann").c_str()), 0);
  EXPECT_THAT(IssueToAnn().message(), HasSubstr("client-ann is not a directory"));
  EXPECT_TRUE(ListDirectory(elsewhere)->empty());
  ASSERT_EQ(::unlink((path_ + "/client-ann").c_str()), 0);
  // A link in the place of a file is replaced.
  ASSERT_EQ(::mkdir((path_ + "/client-ann").c_str(), 0700), 0);
  ASSERT_TRUE(WriteFileDurably(elsewhere + "/precious", "mine").ok());
  for (const char* name : {"key.pem", "cert.pem", "ca.pem"})
    ASSERT_EQ(::symlink((elsewhere + "/precious").c_str(), (path_ + "/client-ann/" + name).c_str()), 0);
  EXPECT_TRUE(IssueToAnn().ok());
  EXPECT_EQ(ReadWholeFile(elsewhere + "/precious").value(), "mine");
}

TEST_F(AuthorityTest, ADirectoryThatOthersMayChangeAndAKeyThatTheyMayReadAreRefused) {
  ASSERT_TRUE(made_.ok());
  ASSERT_EQ(::chmod(path_.c_str(), 0770), 0);
  EXPECT_THAT(IssueToAnn().message(), HasSubstr("run `chmod 700 " + path_ + "`"));
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  EXPECT_TRUE(IssueToAnn().ok());
  ASSERT_EQ(::chmod((path_ + "/client-ann").c_str(), 0777), 0);
  EXPECT_EQ(IssueToAnn().code(), StatusCode::kDenied);
  ASSERT_EQ(::chmod((path_ + "/client-ann").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((path_ + "/ca-key.pem").c_str(), 0640), 0);
  EXPECT_THAT(IssueToAnn().message(), HasSubstr("run `chmod 600 " + path_ + "/ca-key.pem`"));
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
