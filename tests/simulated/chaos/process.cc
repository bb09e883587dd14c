// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/process.h"

#include <utility>

namespace millrace::simulated {

Process::Process(World& world, std::string name)
    : world_(world), name_(std::move(name)), random_(world.Fork()), timer_(*this, world.timer()) {}

kj::Promise<void> Process::GatedTimer::atTime(kj::TimePoint time) {
  return timer_.atTime(time).then([this, incarnation = process_.incarnation_]() -> kj::Promise<void> {
    if (process_.incarnation_ != incarnation || !process_.alive_) return kj::NEVER_DONE;
    return process_.Wait(process_.timers_);
  });
}

kj::Promise<void> Process::Wait(Waiters& waiters) {
  if (!stopped_) return kj::READY_NOW;
  auto paf = kj::newPromiseAndFulfiller<void>();
  waiters.push_back(kj::mv(paf.fulfiller));
  return kj::mv(paf.promise);
}

void Process::Release(Waiters& waiters) {
  const Waiters released = std::exchange(waiters, {});
  for (const auto& waiter : released) const_cast<kj::PromiseFulfiller<void>&>(*waiter).fulfill();
}

void Process::Start() {
  alive_ = true;
  ++incarnation_;
  // Nobody of the incarnation that died waits any more, but peers that had sent something may.
  Release(timers_);
  Release(receivers_);
}

void Process::Die() {
  alive_ = false;
  stopped_ = false;
}

void Process::Stop() { stopped_ = true; }

void Process::Continue() {
  if (!std::exchange(stopped_, false)) return;
  // The others come after all that follows at once from the first.
  Waiters& first = random_.Below(2) == 0 ? timers_ : receivers_;
  Waiters& second = &first == &timers_ ? receivers_ : timers_;
  Release(first);
  world_.Add(world_.timer().afterDelay(1 * kj::MILLISECONDS).then([this, &second] {
    if (!stopped_) Release(second);
  }));
}

}  // namespace millrace::simulated
