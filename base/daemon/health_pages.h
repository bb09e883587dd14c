// SPDX-License-Identifier: Apache-2.0
// HealthPages serves a daemon's HealthBoard by HTTP if health.listen is set. Thread rule: that of each class.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/daemon/http_server.h"
#include "base/log.h"
#include "base/notice.h"
#include "base/status.h"

namespace millrace::daemon {

struct Health {
  std::vector<Notice> faults;    // why the daemon does not do its work; empty: it is ready
  std::vector<Notice> warnings;  // what an operator should look at
};

// HealthBoard: the control thread of a daemon writes its health here, and probes read it, even when that thread is
// stuck. It has two pages, as orchestrators expect them:
//   /healthz   200 while the control thread runs; 503 once it has written nothing for kStale: restart the daemon
//   /readyz    200 while the daemon does its work; 503 otherwise, as at its start: send it no clients
// Both are JSON: {"status": "ready", "reasons": [], "warnings": []}, where `reasons` says why a status is not 200. Each
// entry is {"code": "single-replica", "level": "risk", "text": "7 blocks have one replica: ..."}. A risk leaves /readyz
// at 200. A 503 would make an orchestrator cut off a master that serves everybody, or restart it, which mends nothing.
// Thread rule: any thread.
class HealthBoard {
 public:
  static constexpr Micros kStale = 15 * kSecond;

  // `now` returns the time of a clock that only goes forward.
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

// Thread rule: the control thread.
class HealthPages {
 public:
  // Serves the pages at "HOST:PORT"; serves none if `listen` is empty.
  [[nodiscard]] static Result<std::unique_ptr<HealthPages>> Start(const std::string& listen, const Log& log);

  // Writes the result of `ask` to the board at intervals until the promise is dropped; the promise never resolves.
  // Requires: this object and all that `ask` uses exist until then.
  [[nodiscard]] kj::Promise<void> Follow(kj::Timer& timer, std::function<Health()> ask);

 private:
  HealthPages();
  HealthBoard board_;
  std::unique_ptr<http::HttpServer> server_;  // last, since its thread reads the board; null: no server
};

}  // namespace millrace::daemon
