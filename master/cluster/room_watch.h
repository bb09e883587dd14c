// RoomWatch decides what the master may still write while its disk fills up, by how much is free. Pure; the caller
// looks at the disk and passes in what it saw. Thread rule: one thread at a time.
//
// With less than the reserve free nobody may ask for a change that makes no room: what is left is for what runs
// (journals of jobs, workers that register, files being written). With less than a quarter of it nothing is written
// into the database, so that it never meets the end of its disk; what makes room goes into the spare log
// (base/kv/spare_log.h), which needs none. On the way back an eighth of the reserve more must be free, so that a master
// at an edge does not waver.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace millrace::master {

enum class Writing : std::uint8_t {
  kAll,
  kReserve,  // read-only for people; what runs goes on
  kNothing,  // read-only, and what runs waits; the spare log takes what makes room
};

// What the disk of the master's directory has, in bytes.
struct Room {
  std::uint64_t free = 0;
  std::uint64_t needed = 0;  // to open the database for writing (base/kv/rocks_store.h); 0: it is open
};

class RoomWatch {
 public:
  // `reserve` is in bytes; with 0 nothing is held back but what the database needs.
  RoomWatch(std::string directory, std::uint64_t reserve);
  // Takes in what the disk has. Returns what may be written from now on.
  Writing Look(const Room& room);
  [[nodiscard]] Writing writing() const { return writing_; }
  // Returns how many bytes may be written before nothing is.
  [[nodiscard]] std::uint64_t left() const { return room_.free > floor_ ? room_.free - floor_ : 0; }
  // Returns one line for callers who are refused, or have to wait: what is full, where, how much is free and wanted,
  // and what will happen.
  [[nodiscard]] std::string Line() const;

 private:
  const std::string directory_;
  const std::uint64_t reserve_, margin_, floor_;
  Room room_;
  Writing writing_ = Writing::kAll;
};

}  // namespace millrace::master
