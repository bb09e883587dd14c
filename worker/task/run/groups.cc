// SPDX-License-Identifier: Apache-2.0
#include "worker/task/run/groups.h"

namespace millrace::reduce {

bool Groups::NextGroup() {
  if (position_ == Position::kStart) position_ = records_.Next() ? Position::kBehindGroup : Position::kEnd;
  while (position_ == Position::kGiven || position_ == Position::kInGroup) {
    if (position_ == Position::kInGroup) ++consumed_;
    Advance();
  }
  if (position_ == Position::kEnd) return false;
  key_.assign(records_.key());
  ++groups_;
  position_ = Position::kInGroup;
  return true;
}

}  // namespace millrace::reduce
