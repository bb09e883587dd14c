// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/room_watch.h"

#include <algorithm>
#include <utility>

#include "base/units.h"

namespace millrace::master {

RoomWatch::RoomWatch(std::string directory, std::uint64_t reserve)
    : directory_(std::move(directory)), reserve_(reserve), margin_(reserve / 8), floor_(reserve / 4) {}

Writing RoomWatch::Look(const Room& room) {
  room_ = room;
  const std::uint64_t for_something = writing_ == Writing::kNothing ? floor_ + margin_ : floor_;
  const std::uint64_t for_all = writing_ == Writing::kAll ? reserve_ : reserve_ + margin_;
  if (room.free < std::max(for_something, room.needed)) {
    writing_ = Writing::kNothing;
  } else {
    writing_ = room.free < for_all ? Writing::kReserve : Writing::kAll;
  }
  return writing_;
}

std::string RoomWatch::Line() const {
  const std::uint64_t wanted = reserve_ + margin_;
  return "the master's disk is full: " + directory_ + " has " + FormatBytes(room_.free) +
         " free and the master wants " +
         (room_.needed > wanted ? FormatBytes(room_.needed) + " (to open its database for writing)"
                                : FormatBytes(wanted) + " (master.reserved_bytes, and an eighth)") +
         "; it is read-only until there is room again";
}

}  // namespace millrace::master
