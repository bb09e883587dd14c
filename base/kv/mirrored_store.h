// MirroredStore: a RocksStore with a second copy in another directory, on another disk. Every batch is written to both
// and synced on both, at the same time, before the call returns. Reads go to the first. The mark of the copy is raised
// when both have the batch, so that it counts nothing that the first may lack.
//
// If the copy's disk fails or is full, the store goes on with the first alone and reports this (copy_problem). The copy
// is then abandoned until the store is opened again, which makes a new one. If the first fails, the write fails, and so
// does every later one: the copy may have what the first lacks. Thread rule: any thread.
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

// Opens the copy in `directory` beside the store `first`. Makes it anew from `first` if it cannot be read or does not
// end at the same operation; an unreadable copy is put aside ("<directory>.damaged-1"). `told` receives a line about
// that, and one if the copy fails later, on the thread that writes. All of both is read once. Returns kCorrupt
// - if the copy has acknowledged operations that `first`, then the older state, lacks, or may have some because its
//   mark cannot be read;
// - if both end at the same operation but differ;
// - if something in `first` cannot be read.
[[nodiscard]] Result<std::unique_ptr<MirroredStore>> OpenMirror(std::unique_ptr<RocksStore> first,
                                                                const std::string& directory, RoomProbe free,
                                                                std::function<void(const std::string& line)> told);

}  // namespace millrace
