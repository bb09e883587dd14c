// JobList: jobs in the order of the queue, of which many leave and few ask.
//
// A job that leaves is only noted; it is taken out when somebody asks for the list, or when the notes have grown to
// half of it. So a removal costs O(1) and touches two cache lines, and on average O(log jobs) with the taking out; a
// search and the moving up of those behind would touch the whole list. Thread rule: one thread, const calls included.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "schedulers/core/job_state.h"

namespace millrace::sched {

class JobList {
 public:
  // Does nothing if it is there. O(1) behind all others, else O(jobs).
  void Insert(const QueueKey& key);
  // Does nothing if it is not there.
  void Erase(const QueueKey& key);
  // Each once, in order. Valid until the next call of another function.
  [[nodiscard]] const std::vector<QueueKey>& Get() const;
  // No fewer are listed. O(1).
  [[nodiscard]] std::size_t AtLeast() const { return keys_.size() - std::min(keys_.size(), leaving_.size()); }

 private:
  void TakeOut() const;

  mutable std::vector<QueueKey> keys_;     // in order, those that left included
  mutable std::vector<QueueKey> leaving_;  // in any order; none behind the last of keys_, some perhaps not in it
};

}  // namespace millrace::sched
