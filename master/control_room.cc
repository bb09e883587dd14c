// A disk that fills up under the master, and what goes on when there is room again.
#include "master/control.h"

namespace millrace::master {

Status Control::CheckChange() const { return room_.writing() == Writing::kAll ? Status::Ok() : NoSpace(room_.Line()); }

Status Control::CheckGoingOn() const { return Held() ? Busy(room_.Line()) : Status::Ok(); }

kj::Promise<void> Control::WatchRoom() {
  constexpr kj::Duration kLookEvery = 500 * kj::MILLISECONDS;
  return seams_.timer.afterDelay(kLookEvery).then([this]() {
    LookAtRoom();
    return WatchRoom();
  });
}

void Control::LookAtRoom() {
  if (seams_.look_at_room == nullptr) return;
  const Result<Room> room = seams_.look_at_room();
  if (!room.ok()) return seams_.log->warn("the room of the master's disk is not known: {}", room.status().message());
  const Writing before = room_.writing();
  const Writing now = room_.Look(*room);
  if (now == before) return;
  if (now == Writing::kNothing) commits_.Hold();
  if (now == Writing::kAll) {
    seams_.log->info("the master's disk has room again: changes are taken");
  } else {
    seams_.log->warn("{}; {}", room_.Line(), now == Writing::kNothing ? "jobs wait" : "what runs goes on");
  }
  if (before == Writing::kNothing) GoOn();
}

// Workers that registered meanwhile do so again, and this time what they have is settled.
void Control::GoOn() {
  commits_.Release();
  for (const auto& [node, epoch] : unsettled_) {
    const auto it = epochs_.find(node);
    if (it != epochs_.end() && it->second == epoch) epochs_.erase(it);
  }
  unsettled_.clear();
  FinishLazily(Begin());
}

}  // namespace millrace::master
