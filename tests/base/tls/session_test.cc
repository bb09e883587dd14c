// SPDX-License-Identifier: Apache-2.0
#include "base/tls/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/base/tls/tls_fixture.h"

namespace millrace::tls {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(const Result<bool>& done, const std::string& why) {
  EXPECT_EQ(done.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(done.status().message(), HasSubstr(why));
}

TEST(Session, BothSidesLearnWhoTheOtherIs) {
  const TestAuthority authority;
  JoinedSessions joined(authority.Of("client:ann"), authority.Of("master"), Role::kMaster);
  joined.Handshake();
  ASSERT_TRUE(joined.client_done.ok() && *joined.client_done) << joined.client_done.status().message();
  ASSERT_TRUE(joined.server_done.ok() && *joined.server_done) << joined.server_done.status().message();
  EXPECT_EQ(joined.server.peer(), (PeerIdentity{Role::kClient, "ann"}));
  EXPECT_EQ(joined.client.peer(), (PeerIdentity{Role::kMaster, {}}));
}

TEST(Session, CarriesBytesBothWaysAndNoneOfThemInClear) {
  const TestAuthority authority;
  JoinedSessions joined(authority.Of("client:ann"), authority.Of("worker:w1"));
  joined.Handshake();
  const std::string sent(1 << 20, 'm');
  ASSERT_TRUE(joined.client.Write(sent).ok());
  const std::string sealed = joined.client.TakeOutput();
  EXPECT_EQ(sealed.find("mmmmmmmm"), std::string::npos);
  joined.server.Feed(sealed);
  std::string got(sent.size() + 1, '\0');
  const Result<std::size_t> read = joined.server.Read(got.data(), got.size());
  ASSERT_TRUE(read.ok());
  got.resize(*read);
  EXPECT_EQ(got, sent);
  EXPECT_FALSE(joined.server.ended());
  joined.client.Close();
  joined.server.Feed(joined.client.TakeOutput());
  EXPECT_EQ(*joined.server.Read(got.data(), 1), 0u);
  EXPECT_TRUE(joined.server.ended());
}

TEST(Session, ABitThatIsChangedOnTheWayIsNoticed) {
  const TestAuthority authority;
  JoinedSessions joined(authority.Of("client:ann"), authority.Of("worker:w1"));
  joined.Handshake();
  ASSERT_TRUE(joined.client.Write("pay 100").ok());
  std::string sealed = joined.client.TakeOutput();
  sealed[7] ^= 1;
  joined.server.Feed(sealed);
  char got[16];
  EXPECT_EQ(joined.server.Read(got, sizeof got).status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(joined.server.Write("answer").ok());
}

TEST(Session, ACertificateOfAnotherAuthorityIsRefusedByEitherSide) {
  const TestAuthority ours, theirs;
  // Each of the two believes both, so that only the other refuses.
  const auto trusting = [&](const TestAuthority& of, const std::string& name) {
    CredentialTexts texts = of.TextsOf(name);
    texts.authorities = ours.pair.certificate + theirs.pair.certificate;
    return Credentials::From(texts).value();
  };
  JoinedSessions stranger(trusting(theirs, "client:ann"), ours.Of("master"));
  stranger.Handshake();
  ExpectRefused(stranger.server_done, "the client: refused: its certificate is not good");
  ExpectRefused(stranger.client_done, "the server refuses us: our certificate was issued by another authority");

  JoinedSessions impostor(ours.Of("client:ann"), trusting(theirs, "master"));
  impostor.Handshake();
  ExpectRefused(impostor.client_done, "the server: refused: its certificate is not good");
}

TEST(Session, AnExpiredCertificateIsRefusedAndBothLearnWhy) {
  const TestAuthority authority;
  JoinedSessions joined(authority.Of("client:ann", 48 * kHour), authority.Of("master"));
  joined.Handshake();
  ExpectRefused(joined.server_done, "certificate has expired");
  ExpectRefused(joined.client_done, "renew it");
}

TEST(Session, ACertificateOfAnotherTimeIsRefusedWithBothTimes) {
  const TestAuthority authority;
  for (const Micros age : {30 * kHour, -3 * kHour}) {
    JoinedSessions joined(authority.Of("client:ann", age), authority.Of("master"));
    joined.Handshake();
    const CertificateFacts facts = ReadFacts(authority.TextsOf("client:ann", age).own.certificate, "ann").value();
    const std::string day = TimeText(facts.until).substr(0, 13);
    for (const Result<bool>* refused : {&joined.server_done, &joined.client_done}) {
      ASSERT_FALSE(refused->ok());
      EXPECT_THAT(refused->status().message(), HasSubstr(" until " + day));
      EXPECT_THAT(refused->status().message(),
                  HasSubstr(", and here it is " + TimeText(SystemClock().Now()).substr(0, 13)));
      EXPECT_THAT(refused->status().message(), HasSubstr("do the clocks agree?"));
    }
  }
}

TEST(Session, AClientDoesNotTalkToAPeerOfAnotherRole) {
  const TestAuthority authority;
  JoinedSessions joined(authority.Of("client:ann"), authority.Of("worker:w1"), Role::kMaster);
  joined.Handshake();
  ExpectRefused(joined.client_done, "its certificate is that of worker:w1, and not of a master");
}

TEST(Session, AClientCannotPassForAServer) {
  const TestAuthority authority;
  JoinedSessions joined(authority.Of("client:ann"), authority.Of("client:eve"));
  joined.Handshake();
  EXPECT_FALSE(joined.client_done.ok());
}

TEST(Session, AWorkerIssuesCertificatesOfTasksAndOfNothingElse) {
  const TestAuthority authority;
  const CredentialTexts worker = authority.TextsOf("worker:w1");
  const Micros now = SystemClock().Now();
  const auto task = Credentials::From(Credentials::From(worker).value()->ForTask("ann", now).value()).value();
  JoinedSessions good(task, authority.Of("master"));
  good.Handshake();
  ASSERT_TRUE(good.server_done.ok() && *good.server_done) << good.server_done.status().message();
  EXPECT_EQ(good.server.peer(), (PeerIdentity{Role::kTask, "ann"}));

  for (const char* claimed : {"worker:w2", "client:ann", "master"}) {
    CredentialTexts forged = worker;
    forged.own = Issue(worker.own, ParseIdentity(claimed).value(), {now, kHour}).value();
    forged.own.certificate += worker.own.certificate;
    JoinedSessions bad(Credentials::From(forged).value(), authority.Of("master"));
    bad.Handshake();
    ExpectRefused(bad.server_done, "its issuer may not issue it");
    EXPECT_FALSE(bad.client_done.ok()) << claimed;
  }
}

TEST(Session, ATaskOrAClientIssuesNothing) {
  const TestAuthority authority;
  const Micros now = SystemClock().Now();
  for (const char* issuer : {"client:ann", "master"}) {
    CredentialTexts forged = authority.TextsOf(issuer);
    const KeyPair by = forged.own;
    forged.own = Issue(by, {Role::kTask, "root"}, {now, kHour}).value();
    forged.own.certificate += by.certificate;
    JoinedSessions bad(Credentials::From(forged).value(), authority.Of("master"));
    bad.Handshake();
    EXPECT_EQ(bad.server_done.status().code(), StatusCode::kInvalid) << issuer;
  }
}

TEST(Session, APeerWithoutTlsIsToldApart) {
  const TestAuthority authority;
  Session server(authority.Of("master")->Current(), Side::kServer, "the client");
  server.Feed(std::string(64, '\0'));  // as a Cap'n Proto message begins
  EXPECT_THAT(server.Handshake().status().message(), HasSubstr("does not use TLS"));
  EXPECT_TRUE(SaysTlsIsWanted(server.TakeOutput()));
  Session client(authority.Of("client:ann")->Current(), Side::kClient, "the server");
  client.Feed("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_THAT(client.Handshake().status().message(), HasSubstr("does not use TLS"));
}

}  // namespace
}  // namespace millrace::tls
