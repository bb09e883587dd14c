// SPDX-License-Identifier: Apache-2.0
// UiServer serves the page of a cluster at 127.0.0.1: its files, the API, and events. What a request asks the master
// for is asked on threads of its own, so that a slow answer delays nobody else's. Limits: so many tabs with events, and
// so many requests under way, as kMostTabs and kMostWaiting say; a further one is refused. Thread rule: one thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/daemon/http_server.h"
#include "base/status.h"
#include "client/ui/api.h"
#include "client/ui/gate.h"

namespace millrace::ui {

class UiServer {
 public:
  static constexpr std::size_t kMostTabs = 16, kMostWaiting = 64;

  // Listens at the port of 127.0.0.1; 0 takes any free one. Requires: `view` outlives the server.
  [[nodiscard]] static Result<std::unique_ptr<UiServer>> Start(std::uint16_t port, View& view,
                                                               std::optional<ReverseProxy> proxy = {});
  ~UiServer();
  UiServer(const UiServer&) = delete;
  UiServer& operator=(const UiServer&) = delete;

  // Returns an address that opens the page once. Those before it open it no more. Requires: no proxy.
  [[nodiscard]] std::string NewAddress();
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }

 private:
  explicit UiServer(View& view) : api_(view) {}
  Status Begin(std::uint16_t port, std::optional<ReverseProxy> proxy);
  void Respond(const http::Request& request, const http::Reply& reply);
  void Work();
  void TellTabs();

  Api api_;
  std::unique_ptr<Gate> gate_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::jthread> threads_;
  std::unique_ptr<http::HttpServer> server_;
  // The server for its own thread; guarded by `mutex_`, and null until there is a gate. The owner above is null before
  // that thread has ended.
  http::HttpServer* serving_ = nullptr;
};

}  // namespace millrace::ui
