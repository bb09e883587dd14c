// SPDX-License-Identifier: Apache-2.0
// MirroredStore: a RocksStore with a second copy in another directory, on another disk. Every batch is written to both
// before the call returns, at the same time unless the first awaits room. A batch with Durability::kSynced is also
// synced on both; only then is the mark of the copy raised, so that it counts nothing that the first may lack. Reads go
// to the first.
//
// If the copy's disk fails or is full, the store continues with the first alone and reports this (copy_problem). The
// copy is then abandoned until the store is opened again, which makes a new one. If the first fails, the write fails,
// and so does every later one: the copy may have what the first lacks. Thread rule: any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/kv/rocks_store.h"
#include "base/status.h"

namespace millrace {

class MirroredStore : public RocksStore {
 public:
  // Returns the reason why there is no up-to-date copy; "" if there is one. Any thread.
  [[nodiscard]] virtual std::string copy_problem() const = 0;
};

// Opens the copy in `directory` beside the store `first`. Makes a new one from `first` if the copy cannot be read or
// does not end at the same operation; an unreadable copy is put aside ("<directory>.damaged-1"). `told` receives a line
// when the copy is put aside or made again and, on the thread that writes, one if the copy fails later. Both stores are
// read completely, once. Returns kCorrupt
// - if the copy has acknowledged operations that `first` lacks (`first` is then the older state), or may have some
//   because the mark of the copy cannot be read;
// - if both end at the same operation but differ;
// - if something in `first` cannot be read.
[[nodiscard]] Result<std::unique_ptr<MirroredStore>> OpenMirror(std::unique_ptr<RocksStore> first,
                                                                const std::string& directory, RoomProbe free,
                                                                std::function<void(const std::string& line)> told);

}  // namespace millrace
