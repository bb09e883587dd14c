// SPDX-License-Identifier: Apache-2.0
#include "worker/task/collect/partition.h"

namespace millrace::map::internal {

// Hashes blocks of 16 bytes from the front. The last block ends with the key and may overlap the one before it.
std::uint64_t HashLongKey(std::string_view key) {
  std::uint64_t state = 0;
  std::string_view rest = key;
  for (; rest.size() > run::kKeyWordBytes; rest.remove_prefix(run::kKeyWordBytes)) {
    state = HashBlock(run::LoadBlock(rest.data()), state);
  }
  const std::string_view last = key.substr(key.size() - run::kKeyWordBytes);
  return FinishHash(HashBlock(run::LoadBlock(last.data()), state), key.size());
}

}  // namespace millrace::map::internal
