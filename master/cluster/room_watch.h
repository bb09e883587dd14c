// SPDX-License-Identifier: Apache-2.0
// RoomWatch decides from the free space what the master may still write while its disk fills up. Pure; the caller
// measures the space and passes it in. Thread rule: one thread at a time.
//
// When less than the reserve is free, changes that make no room are refused; the remaining space is for work under way
// (journals of jobs, workers that register, files being written). When less than a quarter of the reserve is free,
// nothing is written into the database, so that it never fills its disk; changes that make room go into the spare log
// (base/kv/spare_log.h), which needs no room. To return to the earlier state, a further eighth of the reserve must be
// free, so that a master at a limit does not waver.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace millrace::master {

enum class Writing : std::uint8_t {
  kAll,
  kReserve,  // read-only for people; work under way continues
  kNothing,  // read-only, and work under way waits; the spare log takes changes that make room
};

// The space on the disk of the master's directory, in bytes.
struct Room {
  std::uint64_t free = 0;
  std::uint64_t needed = 0;  // to open the database for writing (base/kv/rocks_store.h); 0: it is open
};

class RoomWatch {
 public:
  // `reserve` is in bytes; 0 keeps only the room that the database needs.
  RoomWatch(std::string directory, std::uint64_t reserve);
  // Takes in the space on the disk. Returns which changes may be written from now on.
  Writing Look(const Room& room);
  [[nodiscard]] Writing writing() const { return writing_; }
  // Returns how many bytes may be written before all writing stops.
  [[nodiscard]] std::uint64_t left() const { return room_.free > floor_ ? room_.free - floor_ : 0; }
  // Returns one line for callers that are refused or have to wait: what is full, where, how much space is free, how
  // much is wanted, and what will happen.
  [[nodiscard]] std::string Line() const;

 private:
  const std::string directory_;
  const std::uint64_t reserve_, margin_, floor_;
  Room room_;
  Writing writing_ = Writing::kAll;
};

}  // namespace millrace::master
