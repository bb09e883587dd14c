#include "base/daemon/health_board.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/ids/time.h"

namespace millrace::daemon {
namespace {

http::Answer Page(const char* well, const char* unwell, const Health& health) {
  const bool good = health.faults.empty();
  const nlohmann::ordered_json json{
      {"status", good ? well : unwell}, {"reasons", health.faults}, {"warnings", health.warnings}};
  // Names in the lines come from anywhere.
  return {.status = good ? 200U : 503U,
          .type = "application/json",
          .body = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"};
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
    const Health starting{{"the daemon has not started yet"}, {}};
    return path == "/healthz" ? Page("ok", "stuck", {}) : Page("ready", "not ready", starting);
  }
  const Micros silent = now_() - written_;
  if (silent > kStale) {
    return Page("ok", "stuck", {{"the control thread has stood still for " + FormatDuration(silent)}, {}});
  }
  return path == "/healthz" ? Page("ok", "stuck", {}) : Page("ready", "not ready", *health_);
}

}  // namespace millrace::daemon
