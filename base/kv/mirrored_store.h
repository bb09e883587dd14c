// A RocksStore of which there is a second copy in another directory, on another disk: every batch is written to both,
// and synced on both, at the same time, before the call returns. Reads go to the first. The mark of the copy is raised
// when both have the batch, so that it counts nothing that the first may lack.
//
// If the copy's disk fails or is full, the store goes on with the first alone, and says so (copy_problem): the copy is
// given up until the store is opened again, which makes it anew. If the first fails, the write fails, and so does every
// later one: the copy may have what the first lacks. Thread rule: any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/kv/rocks_store.h"
#include "base/status.h"

namespace millrace {

class MirroredStore : public RocksStore {
 public:
  // Returns why there is no copy that is up to date; "" if there is one. Any thread.
  [[nodiscard]] virtual std::string copy_problem() const = 0;
};

// Opens the copy in `directory` beside the store `first`, or makes it from `first` if it does not end where that does
// or cannot be read; what could not be read is put aside ("<directory>.damaged-1"). `told` is told of that, and once if
// the copy fails later, on the thread that writes. Returns kCorrupt if the copy has acknowledged operations that
// `first` does not have, which is then the older state, or may have some, as its mark cannot be read; if it has as many
// and holds something else; or if something in `first` cannot be read: all of both is read once.
[[nodiscard]] Result<std::unique_ptr<MirroredStore>> OpenMirror(std::unique_ptr<RocksStore> first,
                                                                const std::string& directory, RoomProbe free,
                                                                std::function<void(const std::string& line)> told);

}  // namespace millrace
