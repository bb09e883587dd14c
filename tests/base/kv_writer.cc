// SPDX-License-Identifier: Apache-2.0
// kv_writer DIRECTORY: writes 0, 1, 2 and so on to a database until its test kills it. It syncs every third number, and
// acknowledges each on standard output as eight bytes.
#include <unistd.h>

#include "base/kv/rocks_store.h"
#include "base/program.h"

int main(int, char** arguments) {
  millrace::SetInheritedRight();
  auto store = millrace::OpenRocksStore(arguments[1]);
  if (!store.ok()) return 1;
  for (std::uint64_t n = 0;; ++n) {
    millrace::WriteBatch batch;
    batch.Put(millrace::KeyNumber(n), "value " + std::to_string(n));
    const auto durability = n % 3 == 0 ? millrace::Durability::kSynced : millrace::Durability::kBuffered;
    if (!store.value()->Write(batch, durability).ok()) return 1;
    if (::write(STDOUT_FILENO, &n, sizeof n) != ssize_t{sizeof n}) return 1;
  }
}
