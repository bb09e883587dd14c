#include "worker/task/run/groups.h"

namespace millrace::reduce {

bool Groups::NextGroup() {
  if (place_ == Place::kStart) place_ = records_.Next() ? Place::kBehindGroup : Place::kEnd;
  while (place_ == Place::kGiven || place_ == Place::kInGroup) {
    if (place_ == Place::kInGroup) ++consumed_;
    Advance();
  }
  if (place_ == Place::kEnd) return false;
  key_.assign(records_.key());
  ++groups_;
  place_ = Place::kInGroup;
  return true;
}

}  // namespace millrace::reduce
