#include "schedulers/core/job_list.h"

#include <algorithm>
#include <cstddef>

namespace millrace::sched {
namespace {

constexpr std::size_t kFewestNotes = 16;
// One by one when there are so many times more jobs than notes, else all in one pass.
constexpr std::size_t kManyTimes = 16;

}  // namespace

void JobList::Insert(const QueueKey& key) {
  if (keys_.empty() || keys_.back() < key) return keys_.push_back(key);
  TakeOut();
  const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
  if (at == keys_.end() || *at != key) keys_.insert(at, key);
}

void JobList::Erase(const QueueKey& key) {
  if (keys_.empty() || keys_.back() < key) return;
  leaving_.push_back(key);
  if (leaving_.size() >= kFewestNotes && leaving_.size() * 2 > keys_.size()) TakeOut();
}

const std::vector<QueueKey>& JobList::Get() const {
  if (!leaving_.empty()) TakeOut();
  return keys_;
}

void JobList::TakeOut() const {
  if (leaving_.size() * kManyTimes < keys_.size()) {
    for (const QueueKey& key : leaving_) {
      const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
      if (at != keys_.end() && *at == key) keys_.erase(at);
    }
  } else {
    std::sort(leaving_.begin(), leaving_.end());
    auto next = leaving_.cbegin();
    std::erase_if(keys_, [&](const QueueKey& key) {
      while (next != leaving_.cend() && *next < key) ++next;
      return next != leaving_.cend() && *next == key;
    });
  }
  leaving_.clear();
}

}  // namespace millrace::sched
