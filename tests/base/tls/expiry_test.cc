// SPDX-License-Identifier: Apache-2.0
// Tests the warnings about certificates that end, by a clock of the test's own.
#include "base/tls/expiry.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "base/tls/authority.h"
#include "base/tls/credentials.h"
#include "tests/base/tls/tls_fixture.h"

namespace millrace::tls {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Micros kNoon = 1769860800 * kSecond;  // 2026-01-31T12:00:00Z

TEST(ExpiryTest, ThirtyDaysBeforeTheEndIsSoon) {
  EXPECT_EQ(LifetimeOf(kNoon + 30 * kDay + 1, kNoon), Lifetime::kGood);
  EXPECT_EQ(LifetimeOf(kNoon + 30 * kDay, kNoon), Lifetime::kEnds);
  EXPECT_EQ(LifetimeOf(kNoon + 1, kNoon), Lifetime::kEnds);
  EXPECT_EQ(LifetimeOf(kNoon, kNoon), Lifetime::kEnded);
  EXPECT_EQ(WhenText(kNoon + 12 * kDay + kHour, kNoon), "in 12 days");
  EXPECT_EQ(WhenText(kNoon + kDay + 5 * kHour, kNoon), "in 29 h");
  EXPECT_EQ(WhenText(kNoon - 3 * kDay, kNoon), "3 days ago");
}

TEST(ExpiryTest, WhatEndsSoonAndWhatHasEndedAreTwoNoticesAndTheFirstToEndIsNamedFirst) {
  EXPECT_THAT(ExpiryNotices({}, kNoon), IsEmpty());
  EXPECT_THAT(ExpiryNotices({{"the master's", kNoon + 31 * kDay}, {"nobody's", 0}}, kNoon), IsEmpty());
  const std::vector<Notice> notices = ExpiryNotices({{"the master's", kNoon + 20 * kDay},
                                                     {"one's", kNoon - 2 * kDay},
                                                     {"another's", kNoon + 3 * kDay},
                                                     {"a good one's", kNoon + 100 * kDay}},
                                                    kNoon);
  ASSERT_THAT(notices, SizeIs(2));
  EXPECT_EQ(notices[0].code, NoticeCode::kCertificateEnded);
  EXPECT_THAT(notices[0].line, HasSubstr("1 certificate has ended: one's 2 days ago (2026-01-29T12:00:00Z); "));
  EXPECT_EQ(notices[1].code, NoticeCode::kCertificateEnds);
  EXPECT_THAT(notices[1].line,
              HasSubstr("2 certificates end within 30 days: another's in 3 days (2026-02-03T12:00:00Z), "
                        "the master's in 20 days (2026-02-20T12:00:00Z); "));
}

TEST(ExpiryTest, OfManyTheFirstAreNamed) {
  std::vector<CertificateEnd> all;
  for (int i = 0; i < 1000; ++i) all.push_back({"number " + std::to_string(i), kNoon + kDay + i});
  const std::vector<Notice> notices = ExpiryNotices(all, kNoon);
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_THAT(notices[0].line, HasSubstr("1000 certificates end"));
  EXPECT_THAT(notices[0].line, HasSubstr("and 995 more"));
  EXPECT_LT(notices[0].line.size(), 600u);
}

TEST(ExpiryTest, TheLogTellsOfEachOnceADayUntilItIsRenewed) {
  ExpiryLog log;
  std::vector<CertificateEnd> all{{"the master's", kNoon + 40 * kDay}};
  int told = 0;
  for (Micros now = kNoon; now < kNoon + 45 * kDay; now += 10 * kMinute)
    told += static_cast<int>(log.Due(all, now).size());
  EXPECT_EQ(told, 35) << "on the days 10 to 44";
  all.push_back({"a worker's that has come", kNoon + 50 * kDay});
  const Micros now = kNoon + 45 * kDay - kHour;
  ASSERT_THAT(log.Due(all, now), SizeIs(1));
  EXPECT_THAT(log.Due(all, now + kMinute), IsEmpty());
  all[1].until = kNoon + 400 * kDay;
  EXPECT_THAT(log.Due(all, now + 2 * kMinute), IsEmpty());
  all[1].until = kNoon + 50 * kDay;
  EXPECT_THAT(log.Due(all, now + 3 * kMinute), SizeIs(1)) << "it was put back: that is news";
  EXPECT_THAT(log.Due(all, now - 3 * kDay), SizeIs(2)) << "a clock that was set back silences nothing";
}

TEST(ExpiryTest, CredentialsKnowTheEndOfTheirCertificateAndOfItsAuthority) {
  const KeyPair old = *MakeAuthority({kNoon, 100 * kDay});
  const KeyPair renewed = *RenewAuthority(old, {kNoon, 400 * kDay});
  const KeyPair other = *MakeAuthority({kNoon, 9000 * kDay});
  const KeyPair own = *Issue(old, {Role::kMaster, ""}, {kNoon, 50 * kDay});
  const auto ends = [&](const std::string& authorities) { return (*Credentials::From({authorities, own}))->Ends(); };
  EXPECT_EQ(ends(old.certificate).own, kNoon + 50 * kDay);
  EXPECT_EQ(ends(old.certificate).authority, kNoon + 100 * kDay);
  EXPECT_EQ(ends(old.certificate).first(), kNoon + 50 * kDay);
  EXPECT_EQ(ends(other.certificate + old.certificate).authority, kNoon + 100 * kDay) << "the one that issued it";
  EXPECT_EQ(ends(old.certificate + renewed.certificate).authority, kNoon + 400 * kDay);
  EXPECT_EQ((CertificateEnds{.own = 7, .authority = 0}).first(), 7);
  EXPECT_EQ((CertificateEnds{.own = 7, .authority = 5}).first(), 5);
}

TEST(ExpiryTest, AnAuthoritysDirectoryIsListedWithAllThatItHasIssuedAndADaemonsWithWhatItHas) {
  const TempDir directory = TempDir::Make("millrace-certificates-").value();
  const std::string ca = directory.path() + "/ca";
  Authority authority = *Authority::Init(ca, {kNoon, 3650 * kDay});
  ASSERT_TRUE(authority.Issue({Role::kMaster, ""}, {kNoon, 365 * kDay}, false).ok());
  ASSERT_TRUE(authority.Issue({Role::kClient, "ann"}, {kNoon, 20 * kDay}, false).ok());
  std::vector<std::string> troubles;
  const auto listed = [&](const std::string& of) {
    std::vector<std::pair<std::string, Micros>> ends;
    const std::vector<FoundCertificate> found = FindCertificates(of, &troubles).value();
    for (const FoundCertificate& one : found)
      ends.emplace_back(one.name.starts_with("Millrace authority") ? "authority" : one.name,
                        (one.until - kNoon) / kDay);
    return ends;
  };
  using Pair = std::pair<std::string, Micros>;
  EXPECT_THAT(listed(ca), ElementsAre(Pair("authority", 3650), Pair("client:ann", 20), Pair("master", 365)));
  EXPECT_THAT(listed(ca + "/client-ann"), ElementsAre(Pair("authority", 3650), Pair("client:ann", 20)));
  EXPECT_THAT(troubles, IsEmpty());
  ASSERT_TRUE(WriteFileDurably(ca + "/master/cert.pem", "-----BEGIN CERTIFICATE-----\nnone\n").ok());
  EXPECT_THAT(listed(ca), SizeIs(2)) << "the others are listed all the same";
  EXPECT_THAT(troubles, ElementsAre(HasSubstr("master/cert.pem")));
  EXPECT_EQ(FindCertificates(directory.path(), &(troubles = {})).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(FindCertificates(directory.path() + "/none", &troubles).ok());
}

}  // namespace
}  // namespace millrace::tls
