// SPDX-License-Identifier: Apache-2.0
#include "master/control/change_index.h"

#include <algorithm>

namespace millrace::master {

void ChangeIndex::Mark(const Thing& thing) { Change(thing, entries_[thing], false); }

void ChangeIndex::Remove(const Thing& thing) {
  const auto found = entries_.find(thing);
  if (found != entries_.end() && !found->second.gone) Change(thing, found->second, true);
}

void ChangeIndex::Change(const Thing& thing, Entry& entry, bool gone) {
  entry.gone = gone;
  if (entry.version != 0) {
    by_version_.erase(entry.version);
    gone_.erase(entry.version);
    entry.version = 0;
  }
  fresh_.insert(thing);
}

void ChangeIndex::Settle() {
  for (const Thing& thing : fresh_) {
    Entry& entry = entries_.at(thing);
    entry.version = ++last_;
    by_version_.emplace(entry.version, thing);
    if (entry.gone) gone_.emplace(entry.version, thing);
  }
  fresh_.clear();
  while (gone_.size() > most_gone_) {
    const auto& [version, thing] = *gone_.begin();
    dropped_ = version;
    by_version_.erase(version);
    entries_.erase(thing);
    gone_.erase(gone_.begin());
  }
}

ChangeIndex::Answer ChangeIndex::Tell(const Cursor& since, const std::function<bool(const Thing&, bool)>& take) {
  Settle();
  Answer answer{.up_to = since};
  answer.anew = since.life != life_ || since.version == 0 || since.version > last_ ||
                std::max(since.version, since.floor) < dropped_;
  if (answer.anew) answer.up_to = {life_, 0, last_};
  for (auto at = by_version_.upper_bound(answer.up_to.version); at != by_version_.end(); ++at) {
    const auto& [version, thing] = *at;
    const bool gone = entries_.at(thing).gone;
    // The client was never told that there was such a thing.
    if ((!gone || version > answer.up_to.floor) && !take(thing, gone)) {
      answer.more = true;
      return answer;
    }
    answer.up_to.version = version;
  }
  answer.up_to.version = last_;
  return answer;
}

}  // namespace millrace::master
