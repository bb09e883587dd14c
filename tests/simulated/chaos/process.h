// SPDX-License-Identifier: Apache-2.0
// Process is a daemon as an operating system sees it: whether it is stopped (SIGSTOP), and its incarnation. While it is
// stopped, its timers do not fire and it reads nothing. When it continues, all overdue timers fire and all waiting
// messages are read at once; chance decides which come first. The timers of an incarnation end with it. Thread rule:
// one thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <list>
#include <string>

#include "base/random.h"
#include "tests/simulated/chaos/world.h"

namespace millrace::simulated {

class Process {
 public:
  Process(World& world, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] kj::Timer& timer() { return timer_; }  // for the daemon's code
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] bool alive() const { return alive_; }
  [[nodiscard]] std::uint64_t incarnation() const { return incarnation_; }

  void Start();  // the next incarnation
  void Die();    // also if it is stopped
  void Stop();
  void Continue();
  // Resolves once the process is not stopped.
  [[nodiscard]] kj::Promise<void> MayReceive() { return Wait(receivers_); }

 private:
  class GatedTimer final : public kj::Timer {
   public:
    GatedTimer(Process& process, kj::Timer& timer) : process_(process), timer_(timer) {}
    kj::TimePoint now() const override { return timer_.now(); }
    kj::Promise<void> atTime(kj::TimePoint time) override;
    kj::Promise<void> afterDelay(kj::Duration delay) override { return atTime(timer_.now() + delay); }

   private:
    Process& process_;
    kj::Timer& timer_;
  };
  using Waiters = std::list<kj::Own<kj::PromiseFulfiller<void>>>;
  kj::Promise<void> Wait(Waiters& waiters);
  static void Release(Waiters& waiters);

  World& world_;
  std::string name_;
  Random random_;
  GatedTimer timer_;
  bool stopped_ = false, alive_ = false;
  std::uint64_t incarnation_ = 0;
  Waiters timers_, receivers_;
};

}  // namespace millrace::simulated
