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

}  // namespace millrace::master
