// SPDX-License-Identifier: Apache-2.0
// ServiceManager reports the state of a daemon (ready, alive, stopping) and its present work to the service manager
// that started it. Format: datagrams of lines NAME=VALUE to the socket that NOTIFY_SOCKET names (sd_notify(3)). Without
// a service manager it sends nothing. A datagram that cannot be sent is dropped: the daemon's work does not depend on
// it.
// Thread rule: the thread whose loop drives the timer.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <string>
#include <string_view>

#include "base/clock.h"

namespace millrace::daemon {

class ServiceManager {
 public:
  // The values of NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, unchanged; empty: not set.
  struct Environment {
    std::string socket;        // a path, or "@" and the name of an abstract socket
    std::string watchdog;      // the period in us within which a sign of life must come
    std::string watchdog_pid;  // the process that must give it; empty: any
  };
  // Reads these variables from the environment of this process and removes them: they are not for children.
  [[nodiscard]] static Environment TakeEnvironment();

  // `pid` is the id of this process.
  ServiceManager(const Environment& environment, int pid);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // Reports that the daemon serves. Here and below, `status` is one line for people.
  void Ready(std::string_view status);
  void Say(std::string_view status);
  void Stopping();

  // Gives two signs of life in each watchdog period until the promise is dropped; the promise never resolves. A loop
  // that is stuck gives none, and the service manager restarts the daemon.
  [[nodiscard]] kj::Promise<void> TellAlive(kj::Timer& timer);
  // Returns the watchdog period in us; 0: none was asked for.
  [[nodiscard]] Micros watchdog() const { return watchdog_; }

 private:
  void Send(const std::string& lines);

  int socket_ = -1;
  std::string address_;  // the bytes of sun_path
  Micros watchdog_ = 0;
};

}  // namespace millrace::daemon
