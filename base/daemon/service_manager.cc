// SPDX-License-Identifier: Apache-2.0
#include "base/daemon/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace millrace::daemon {
namespace {

std::string TakeVariable(const char* name) {
  const char* value = std::getenv(name);
  std::string taken = value != nullptr ? value : "";
  ::unsetenv(name);
  return taken;
}

std::optional<std::int64_t> ParseCount(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

}  // namespace

ServiceManager::Environment ServiceManager::TakeEnvironment() {
  return {TakeVariable("NOTIFY_SOCKET"), TakeVariable("WATCHDOG_USEC"), TakeVariable("WATCHDOG_PID")};
}

ServiceManager::ServiceManager(const Environment& environment, int pid) {
  const std::string& name = environment.socket;
  if (name.size() < 2 || name.size() >= sizeof(sockaddr_un::sun_path) || (name[0] != '/' && name[0] != '@')) return;
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  address_ = name;
  if (name[0] == '@') address_[0] = '\0';
  const bool for_us = environment.watchdog_pid.empty() || environment.watchdog_pid == std::to_string(pid);
  if (for_us) watchdog_ = ParseCount(environment.watchdog).value_or(0);
}

ServiceManager::~ServiceManager() {
  if (socket_ >= 0) ::close(socket_);
}

void ServiceManager::Ready(std::string_view status) { Send("READY=1\nSTATUS=" + Printable(status)); }

void ServiceManager::Say(std::string_view status) { Send("STATUS=" + Printable(status)); }

void ServiceManager::Stopping() { Send("STOPPING=1"); }

kj::Promise<void> ServiceManager::TellAlive(kj::Timer& timer) {
  if (watchdog_ == 0) return kj::NEVER_DONE;
  Send("WATCHDOG=1");
  return timer.afterDelay(std::max<Micros>(watchdog_ / 2, 1) * kj::MICROSECONDS).then([this, &timer] {
    return TellAlive(timer);
  });
}

void ServiceManager::Send(const std::string& lines) {
  if (socket_ < 0) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, address_.data(), address_.size());
  // An abstract name has no end but the length that is given.
  const std::size_t end = address_[0] == '\0' ? 0 : 1;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size() + end);
  (void)::sendto(socket_, lines.data(), lines.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                 length);
}

}  // namespace millrace::daemon
