// HealthBoard: where a daemon's control thread writes down how it is, and a probe reads it, also when that thread
// stands still. Two pages, as orchestrators ask for them:
//   /healthz   200 while the control thread turns; 503 once it has written nothing for kStale: start the daemon anew
//   /readyz    200 while the daemon does its work; 503 otherwise, as at its start: send nobody there
// Both are JSON: {"status": "ready", "reasons": [], "warnings": []}, where `reasons` says why a status is not 200. Each
// entry is {"code": "single-replica", "level": "risk", "text": "7 blocks have one replica: ..."}. A risk leaves /readyz
// at 200: whoever heeds it would send nobody to a master that serves everybody, or start it anew, which takes the
// master away and mends nothing.
// Thread rule: any thread.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/http/http_server.h"
#include "base/notice.h"

namespace millrace::daemon {

struct Health {
  std::vector<Notice> faults;    // why the daemon does not do its work; none: it is ready
  std::vector<Notice> warnings;  // what somebody should look at
};

class HealthBoard {
 public:
  static constexpr Micros kStale = 15 * kSecond;

  // `now` gives the time by a clock that only goes forward.
  explicit HealthBoard(std::function<Micros()> now) : now_(std::move(now)) {}

  void Write(Health health);
  // Answers the two pages, and 404 for any other.
  [[nodiscard]] http::Answer Get(const std::string& target) const;

 private:
  const std::function<Micros()> now_;
  mutable std::mutex mutex_;
  std::optional<Health> health_;
  Micros written_ = 0;
};

}  // namespace millrace::daemon
