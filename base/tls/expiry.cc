// SPDX-License-Identifier: Apache-2.0
#include "base/tls/expiry.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/ids/counted.h"
#include "base/tls/certificates.h"

namespace millrace::tls {
namespace {

std::string Named(const std::vector<CertificateEnd>& certificates, Micros now) {
  constexpr std::size_t kMostNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(certificates.size(), kMostNamed); ++i) {
    const CertificateEnd& one = certificates[i];
    text += (i == 0 ? "" : ", ") + one.whose + " " + WhenText(one.until, now) + " (" + TimeText(one.until) + ")";
  }
  const std::size_t more = certificates.size() - std::min(certificates.size(), kMostNamed);
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

constexpr const char* kAdvice = "; `millrace ca renew` issues them again, and daemons read the new files by themselves";

}  // namespace

Lifetime LifetimeOf(Micros until, Micros now) {
  if (until <= now) return Lifetime::kEnded;
  return until - now <= kEndsSoon ? Lifetime::kEnds : Lifetime::kGood;
}

std::string WhenText(Micros until, Micros now) {
  const Micros away = until > now ? until - now : now - until;
  const std::string text =
      away >= 2 * kDay ? std::to_string(away / kDay) + " days" : std::to_string(away / kHour) + " h";
  return until > now ? "in " + text : text + " ago";
}

std::vector<Notice> ExpiryNotices(std::vector<CertificateEnd> certificates, Micros now) {
  std::ranges::stable_sort(certificates, {}, &CertificateEnd::until);
  std::vector<CertificateEnd> ended, ending;
  for (CertificateEnd& one : certificates) {
    const Lifetime lifetime = one.until == 0 ? Lifetime::kGood : LifetimeOf(one.until, now);
    if (lifetime == Lifetime::kEnded) {
      ended.push_back(std::move(one));
    } else if (lifetime == Lifetime::kEnds) {
      ending.push_back(std::move(one));
    }
  }
  std::vector<Notice> notices;
  if (!ended.empty()) {
    notices.push_back(
        {NoticeCode::kCertificateEnded, Counted(ended.size(), "certificate has ended: ", "certificates have ended: ") +
                                            Named(ended, now) +
                                            "; open connections stay, and no new one can be made with them" + kAdvice});
  }
  if (!ending.empty()) {
    notices.push_back({NoticeCode::kCertificateEnds, Counted(ending.size(), "certificate ends", "certificates end") +
                                                         " within 30 days: " + Named(ending, now) + kAdvice});
  }
  return notices;
}

std::vector<Notice> ExpiryLog::Due(const std::vector<CertificateEnd>& certificates, Micros now) {
  std::map<std::string, Micros> told;
  std::vector<CertificateEnd> due;
  for (const CertificateEnd& one : certificates) {
    if (one.until == 0 || LifetimeOf(one.until, now) == Lifetime::kGood) continue;
    const auto before = told_.find(one.whose);
    // A clock that was set back must not silence it.
    const bool again = before == told_.end() || std::llabs(now - before->second) >= kDay;
    told[one.whose] = again ? now : before->second;
    if (again) due.push_back(one);
  }
  told_ = std::move(told);
  return ExpiryNotices(std::move(due), now);
}

}  // namespace millrace::tls
