// HealthPages: a daemon's board (health_board.h) behind an HTTP server, where health.listen asks for one.
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

  // Asks again and again how the daemon is, until the promise is dropped. It never ends. Requires: this and what `ask`
  // uses exist until then.
  [[nodiscard]] kj::Promise<void> Follow(kj::Timer& timer, std::function<Health()> ask);

 private:
  HealthPages();
  HealthBoard board_;
  std::unique_ptr<http::HttpServer> server_;  // last: its thread reads the board; null: there is none
};

}  // namespace millrace::daemon
