// Doubt records that the database may be older than answers already given to clients, because the database was
// restored, repaired, or set back in another way. While there is doubt, nothing is removed for good on the master's own
// judgement: blocks that lose their file go to the workers' trash, as unknown blocks do (dfs/name/block_manager.h).
// Stored under "doubt". Pure. Thread rule: control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"

namespace millrace::master {

enum class DoubtCause : std::uint8_t { kRestored, kRepaired, kSetBack };

class Doubt {
 public:
  // Stores the cause of a doubt while no master runs. The next master to start begins the doubt.
  static void Announce(DoubtCause cause, WriteBatch* batch);

  // Requires: this object is new.
  [[nodiscard]] Status Load(const KeyValueStore& store);
  // Returns the cause of a doubt that was announced but has not begun.
  [[nodiscard]] std::optional<DoubtCause> announced() const { return until_ ? std::nullopt : cause_; }
  // Begins the doubt at `now`, for at least `length`.
  void Begin(DoubtCause cause, Micros now, Micros length, WriteBatch* batch);
  // Ends the doubt if its time is over. Returns true if this call ended it.
  bool EndIfOver(Micros now, WriteBatch* batch);
  [[nodiscard]] bool there_is() const { return until_.has_value(); }
  // Returns a line that explains the doubt to people; empty if there is none.
  [[nodiscard]] std::string Line(Micros now) const;

 private:
  std::optional<DoubtCause> cause_;
  std::optional<Micros> until_;  // scheduler time; none: announced, or no doubt
};

}  // namespace millrace::master
