// SPDX-License-Identifier: Apache-2.0
#include "base/daemon/health_pages.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/ids/time.h"

namespace millrace::daemon {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const std::vector<Notice>& notices) {
  Json list = Json::array();
  for (const Notice& notice : notices)
    list.push_back({{"code", notice.name()}, {"level", NameOf(notice.level())}, {"text", notice.line}});
  return list;
}

http::Answer Page(const char* well, const char* unwell, const Health& health) {
  const bool good = health.faults.empty();
  const Json json{
      {"status", good ? well : unwell}, {"reasons", ToJson(health.faults)}, {"warnings", ToJson(health.warnings)}};
  // Names in the lines come from anywhere.
  return {.status = good ? 200U : 503U,
          .type = "application/json",
          .body = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

constexpr kj::Duration kAskEvery = 1 * kj::SECONDS;

Micros Monotonic() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void HealthBoard::Write(Health health) {
  const std::lock_guard lock(mutex_);
  health_ = std::move(health);
  written_ = now_();
}

http::Answer HealthBoard::Get(const std::string& target) const {
  const std::string path = target.substr(0, target.find('?'));
  if (path != "/healthz" && path != "/readyz") return {.status = 404, .body = "there are /healthz and /readyz\n"};
  const std::lock_guard lock(mutex_);
  if (!health_) {
    const Health starting{{{NoticeCode::kStarting, "the daemon has not started yet"}}, {}};
    return path == "/healthz" ? Page("ok", "stuck", {}) : Page("ready", "not ready", starting);
  }
  const Micros silent = now_() - written_;
  if (silent > kStale) {
    const Notice stuck{NoticeCode::kStuck, "the control thread has been stuck for " + FormatDuration(silent)};
    return Page("ok", "stuck", {{stuck}, {}});
  }
  return path == "/healthz" ? Page("ok", "stuck", {}) : Page("ready", "not ready", *health_);
}

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
