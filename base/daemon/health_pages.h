// HealthPages serves a daemon's board (health_board.h) by HTTP if health.listen is set.
// Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <memory>
#include <string>

#include "base/daemon/health_board.h"
#include "base/http/http_server.h"
#include "base/log.h"
#include "base/status.h"

namespace millrace::daemon {

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
