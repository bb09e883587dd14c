// SPDX-License-Identifier: Apache-2.0
// Lineage keeps, in the master's database, the moments (base/cluster_id.h) that the database has gone through. From
// these moments, a master recognises that a worker knows a later moment than the master's database. Pure. Thread rule:
// control thread.
//
// The lives of the master, each with its last number, are stored under "lives", and the number of the present life
// under "moment". Only the last kMostLives lives are kept. A worker that was away for more starts of the master than
// that counts as one that knows more than the database; removed blocks then go to the trash for a while.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/cluster_id.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"

namespace millrace::master {

class Lineage {
 public:
  static constexpr std::size_t kMostLives = 1000;

  // Requires: this object is new.
  [[nodiscard]] Status Load(const KeyValueStore& store);
  // Begins a life. Requires: Load came before, and `life` is not 0.
  void Begin(std::uint64_t life, WriteBatch* batch);
  // Begins the next moment; all changes before this call belong to earlier moments. Requires: Begin came before.
  void Advance(WriteBatch* batch);
  [[nodiscard]] const Moment& now() const { return now_; }  // perhaps not on disk yet
  // Returns true if the database has gone through the moment.
  [[nodiscard]] bool Has(const Moment& moment) const;

 private:
  std::deque<Moment> ended_;  // the last moment of each life, in order
  Moment now_;
};

// These store, and read, the time until when the database surely knows what happened, since the epoch; 0: unknown. It
// is stored under "time".
void StoreKnownUntil(Micros time, WriteBatch* batch);
[[nodiscard]] Result<Micros> ReadKnownUntil(const KeyValueStore& store);

enum class DoubtCause : std::uint8_t { kRestored, kRepaired, kSetBack };

// Doubt records that the database may be older than answers already given to clients, because the database was
// restored, repaired, or set back in another way. While there is doubt, nothing is removed for good on the master's own
// judgement: blocks that lose their file go to the workers' trash, as unknown blocks do (dfs/name/block_manager.h).
// Stored under "doubt". Pure. Thread rule: control thread.
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
