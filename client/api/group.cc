// SPDX-License-Identifier: Apache-2.0
#include "client/api/group.h"

#include "base/text.h"
#include "worker/task/collect/partition.h"

namespace millrace::internal {

bool GroupWatch::Begin(std::string_view group) {
  ++groups_;
  const std::uint64_t hash = map::HashKey(group);
  if ((hash & mask_) != 0) return true;
  if (!seen_.insert(hash).second) {
    status_ = Invalid("the group " + Quote(group.substr(0, 80)) +
                      " comes a second time, after other groups: keys of one Group do not sort together; let Group "
                      "return what the Key begins with, or let the Key begin with its group");
    return false;
  }
  while (seen_.size() > most_) {
    mask_ = mask_ << 1 | 1;
    std::erase_if(seen_, [this](std::uint64_t one) { return (one & mask_) != 0; });
  }
  return true;
}

}  // namespace millrace::internal
