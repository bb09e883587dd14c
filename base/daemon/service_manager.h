// What a daemon tells the service manager that started it: that it is ready, what it does, that it still turns, that it
// stops. Format: datagrams of lines NAME=VALUE to the socket that NOTIFY_SOCKET names (sd_notify(3)). Without a service
// manager nothing is told. A datagram that cannot be sent is dropped: the daemon's work does not depend on it.
// Thread rule: one thread, the one whose loop drives the timer.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <string>
#include <string_view>

#include "base/clock.h"

namespace millrace::daemon {

class ServiceManager {
 public:
  // What the environment says (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID), as it is; empty: not set.
  struct Environment {
    std::string socket;        // a path, or "@" and the name of an abstract socket
    std::string watchdog;      // us within which a sign of life must come
    std::string watchdog_pid;  // whose; empty: anyone's
  };
  // Reads the environment of this process and takes its variables out of it: they are not for children.
  [[nodiscard]] static Environment TakeEnvironment();

  // `pid` is that of this process.
  ServiceManager(const Environment& environment, int pid);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // The daemon serves. `status` is one line for people, as all below.
  void Ready(std::string_view status);
  void Say(std::string_view status);
  void Stopping();

  // Gives signs of life, two in each period that was asked for, until the promise is dropped. It never ends. A loop
  // that stands still gives none, and the service manager starts the daemon anew.
  [[nodiscard]] kj::Promise<void> TellAlive(kj::Timer& timer);
  // Returns the period that was asked for, in us; 0: none.
  [[nodiscard]] Micros watchdog() const { return watchdog_; }

 private:
  void Send(const std::string& lines);

  int socket_ = -1;
  std::string address_;  // as sun_path has it
  Micros watchdog_ = 0;
};

}  // namespace millrace::daemon
