// SPDX-License-Identifier: Apache-2.0
// World holds one thread's event loop under driven time, the source of chance, and the record of events. The same seed
// gives the same record, byte for byte. Thread rule: one thread.
#pragma once

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"

namespace millrace::simulated {

class World final : private kj::TaskSet::ErrorHandler {
 public:
  // With `log`, the daemons' log lines become part of the record.
  World(std::uint64_t seed, bool log);
  ~World() noexcept(false);

  [[nodiscard]] kj::Timer& timer() { return timer_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] Random Fork() { return Random(random_.Next()); }
  [[nodiscard]] Log MakeLogOf(const std::string& who);

  [[nodiscard]] double seconds() const;
  // Runs everything that happens within `seconds`, or until `stop` returns true (it is called after every timed event)
  // or something has failed.
  void Advance(double seconds, const std::function<bool()>& stop = nullptr);
  [[nodiscard]] kj::Promise<void> Sleep(double seconds);
  // Runs everything that is ready, without moving time.
  void RunReady() { scope_.poll(); }

  // Runs `code` as if it blocked, until it ends or the promise is dropped.
  [[nodiscard]] kj::Promise<void> Spawn(kj::Function<void(kj::WaitScope&)> code);
  // Does what Spawn does, but the world keeps the promise.
  void Run(kj::Function<void(kj::WaitScope&)> code) { Add(Spawn(kj::mv(code))); }
  // Runs `action` after `seconds`, on the main stack. It is meant for acts of an operator, or of fate.
  void Do(double seconds, std::function<void()> action);
  void Add(kj::Promise<void> promise) { tasks_->add(kj::mv(promise)); }

  // Adds a line to the record.
  void Note(const std::string& line);
  // Notes that an invariant is broken. The first failure is kept, and time stands still from then on.
  void Fail(const std::string& invariant, const std::string& what);
  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
  [[nodiscard]] const std::vector<std::string>& record() const { return record_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  void taskFailed(kj::Exception&& exception) override;

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  DrivenClock clock_{kSecond};
  Random random_;
  bool log_;
  kj::FiberPool fibers_{std::size_t{256} << 10};
  std::vector<std::string> record_;
  std::optional<std::string> failure_;
  std::uint64_t events_ = 0;
  std::multimap<kj::TimePoint, std::function<void()>> actions_;
  kj::Own<kj::TaskSet> tasks_;  // last: tasks use the members above
};

}  // namespace millrace::simulated
