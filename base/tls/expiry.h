// What is said of certificates that end soon or have ended. Nobody notices them before: what is connected stays so, and
// a year later nothing connects any more. The time is passed in. Thread rule: free functions, any thread; an ExpiryLog
// belongs to one thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/notice.h"

namespace millrace::tls {

inline constexpr Micros kDay = 24 * kHour;
inline constexpr Micros kEndsSoon = 30 * kDay;

// When a process's own certificate ends, and that of the authority that issued it as the process knows it.
struct CertificateEnds {
  Micros own = 0, authority = 0;  // since the epoch; 0: there is none

  // Returns when the first of them ends: nobody believes the certificate from then on.
  [[nodiscard]] Micros first() const { return authority == 0 || own < authority ? own : authority; }
};

struct CertificateEnd {
  std::string whose;  // "the master's"
  Micros until = 0;   // since the epoch; 0: nobody knows, and nothing is said
};

enum class Lifetime { kGood, kEnds, kEnded };
[[nodiscard]] Lifetime LifetimeOf(Micros until, Micros now);
// Returns "in 12 days", "in 5 h" or "12 days ago".
[[nodiscard]] std::string WhenText(Micros until, Micros now);

// Returns a notice of those that have ended and one of those that end within kEndsSoon, as far as there are any; the
// first of each are named, the first to end first.
[[nodiscard]] std::vector<Notice> ExpiryNotices(std::vector<CertificateEnd> certificates, Micros now);

// Says which certificates the log is to tell of, so that each is told once a day.
class ExpiryLog {
 public:
  // Returns what is to be logged now. Requires: `certificates` are all of them.
  [[nodiscard]] std::vector<Notice> Due(const std::vector<CertificateEnd>& certificates, Micros now);

 private:
  std::map<std::string, Micros> told_;  // those that end soon or have ended, by whose they are
};

}  // namespace millrace::tls
