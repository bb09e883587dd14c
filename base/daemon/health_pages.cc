#include "base/daemon/health_pages.h"

#include <chrono>
#include <utility>

namespace millrace::daemon {
namespace {

constexpr kj::Duration kAskEvery = 1 * kj::SECONDS;

Micros Monotonic() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

HealthPages::HealthPages() : board_(Monotonic) {}

Result<std::unique_ptr<HealthPages>> HealthPages::Start(const std::string& listen, const Log& log) {
  std::unique_ptr<HealthPages> pages(new HealthPages);
  if (listen.empty()) return pages;
  Result<std::unique_ptr<http::HttpServer>> server = http::HttpServer::Start(
      listen, [&board = pages->board_](const std::string& target) { return board.Get(target); });
  if (!server.ok()) return server.status().Within("health.listen");
  pages->server_ = *std::move(server);
  log->info("health is at http://{}:{}/readyz", listen.substr(0, listen.rfind(':')), pages->server_->port());
  return pages;
}

kj::Promise<void> HealthPages::Follow(kj::Timer& timer, std::function<Health()> ask) {
  if (server_ == nullptr) return kj::NEVER_DONE;
  board_.Write(ask());
  return timer.afterDelay(kAskEvery).then(
      [this, &timer, ask = std::move(ask)]() mutable { return Follow(timer, std::move(ask)); });
}

}  // namespace millrace::daemon
