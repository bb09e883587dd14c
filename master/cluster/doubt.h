// Doubt: the record that the database may be older than what clients were told, since it was restored, repaired, or set
// back in another way. For a while then nothing is removed for good on the master's own judgement: blocks that lose
// their file go to the workers' trash, by the way of unknown blocks (dfs/name/block_manager.h). Stored under "doubt".
// Pure. Thread rule: control thread.
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
  // Stores, before a master is started, that there is cause for doubt: the next master begins it.
  static void Announce(DoubtCause cause, WriteBatch* batch);

  // Requires: this is new.
  [[nodiscard]] Status Load(const KeyValueStore& store);
  // Returns the cause that was announced and not begun yet.
  [[nodiscard]] std::optional<DoubtCause> announced() const { return until_ ? std::nullopt : cause_; }
  // From `now` on there is doubt, for `length` at least.
  void Begin(DoubtCause cause, Micros now, Micros length, WriteBatch* batch);
  // Ends it if its time is over. Returns true if it has ended now.
  bool EndIfOver(Micros now, WriteBatch* batch);
  [[nodiscard]] bool there_is() const { return until_.has_value(); }
  // Returns a line for people, with what it means; empty without doubt.
  [[nodiscard]] std::string Line(Micros now) const;

 private:
  std::optional<DoubtCause> cause_;
  std::optional<Micros> until_;  // scheduler time; none: announced, or no doubt
};

}  // namespace millrace::master
