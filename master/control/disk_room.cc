// SPDX-License-Identifier: Apache-2.0
#include "master/control/disk_room.h"

#include "base/units.h"

namespace millrace::master {

bool DiskRoom::Look() {
  if (look_at_ == nullptr) return false;
  const Result<Room> room = look_at_();
  if (!room.ok()) {
    log_->warn("the free space of the master's disk is not known: {}", room.status().message());
    return false;
  }
  const Writing before = watch_.writing();
  const Writing now = watch_.Look(*room);
  if (now == before) return false;
  if (now == Writing::kNothing) HoldCommits();
  if (now == Writing::kAll) {
    log_->info("the master's disk has room again: changes are accepted");
  } else {
    log_->warn("{}; {}", Line(), now == Writing::kNothing ? "jobs wait" : "what runs goes on");
  }
  if (before != Writing::kNothing) return false;
  if (spare_ != nullptr) spare_->UseSpare(false);
  commits_.Release();
  return true;
}

// The spare log continues what the database has.
void DiskRoom::HoldCommits() {
  tasks_.add(commits_.Hold().then([this, time = ++times_held_] {
    if (!Held() || time != times_held_ || spare_ == nullptr) return;
    spare_->UseSpare(true);
    commits_.Spend(spare_->spare_left());
  }));
}

Status DiskRoom::CheckChange() const { return watch_.writing() == Writing::kAll ? Status::Ok() : NoSpace(Line()); }

Status DiskRoom::CheckMakesRoom(std::uint64_t bytes) const {
  if (watch_.writing() == Writing::kAll) return Status::Ok();
  if (Held() ? commits_.CanSpend(bytes) : bytes <= watch_.left()) return Status::Ok();
  return NoSpace(Line() + "; this takes about " + FormatBytes(bytes) + " there, and only " +
                 FormatBytes(Held() ? commits_.spendable() : watch_.left()) + " are left for changes that make room");
}

Status DiskRoom::CheckGoingOn() const { return Held() ? Busy(Line()) : Status::Ok(); }

}  // namespace millrace::master
