// SPDX-License-Identifier: Apache-2.0
// Warnings of certificates that end soon or have ended. Without them nobody notices: connections stay open, and a year
// later no new one succeeds. The time is passed in. Thread rule: free functions, any thread; an ExpiryLog belongs to
// one thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/notice.h"

namespace millrace::tls {

inline constexpr Micros kDay = 24 * kHour;
inline constexpr Micros kEndsSoon = 30 * kDay;

// The ends of a process's own certificate, and of its issuer's certificate as the process knows it.
struct CertificateEnds {
  Micros own = 0, authority = 0;  // since the epoch; 0: no certificate

  // Returns the earlier end: nobody accepts the certificate from then on.
  [[nodiscard]] Micros first() const { return authority == 0 || own < authority ? own : authority; }
};

struct CertificateEnd {
  std::string whose;  // "the master's"
  Micros until = 0;   // since the epoch; 0: unknown, and no notice is made
};

enum class Lifetime { kGood, kEnds, kEnded };
[[nodiscard]] Lifetime LifetimeOf(Micros until, Micros now);
// Returns "in 12 days", "in 5 h" or "12 days ago".
[[nodiscard]] std::string WhenText(Micros until, Micros now);

// Returns one notice of the certificates that have ended and one of those that end within kEndsSoon, if there are any.
// Each names the certificates that end first, in the order in which they end.
[[nodiscard]] std::vector<Notice> ExpiryNotices(std::vector<CertificateEnd> certificates, Micros now);

// Chooses the certificates to log, so that each is logged once a day.
class ExpiryLog {
 public:
  // Returns the notices to log now. Requires: `certificates` is the complete list.
  [[nodiscard]] std::vector<Notice> Due(const std::vector<CertificateEnd>& certificates, Micros now);

 private:
  std::map<std::string, Micros> told_;  // by `whose`: when each certificate that ends soon or has ended was last logged
};

}  // namespace millrace::tls
