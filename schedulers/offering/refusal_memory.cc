#include "schedulers/offering/refusal_memory.h"

#include <algorithm>

namespace millrace::sched {

void RefusalMemory::Reset(std::uint32_t node_ids) {
  accepting_more_.clear();
  if (node_ids == node_ids_ && refused_by_all_.empty()) return;
  node_ids_ = node_ids;
  unasked_ = OrderedBits::Full(node_ids);
  refused_by_all_ = to_recheck_ = OrderedBits();
}

void RefusalMemory::MayAcceptMore(JobId job) {
  if (refused_by_all_.empty()) return;
  if (std::find(accepting_more_.begin(), accepting_more_.end(), job) == accepting_more_.end())
    accepting_more_.push_back(job);
  if (accepting_more_.size() > kMostAcceptingMore) return Reset();
  to_recheck_ = refused_by_all_;
}

void RefusalMemory::Forget(JobId job) { std::erase(accepting_more_, job); }

std::uint32_t RefusalMemory::NextToOffer(const OrderedBits& free, std::uint32_t from, std::uint32_t end) const {
  std::uint32_t next = OrderedBits::NextCommon(free, unasked_, from);
  if (!to_recheck_.empty()) next = std::min(next, OrderedBits::NextCommon(free, to_recheck_, from));
  return next < end ? next : OrderedBits::kNone;
}

void RefusalMemory::RecordRefusal(std::uint32_t node) {
  unasked_.Erase(node);
  refused_by_all_.Insert(node);
  to_recheck_.Erase(node);
}

// The jobs that accept more have been asked. A node that was not free they have not refused.
void RefusalMemory::EndWalk() {
  for (const std::uint32_t node : to_recheck_) {
    refused_by_all_.Erase(node);
    unasked_.Insert(node);
  }
  if (!to_recheck_.empty()) to_recheck_ = OrderedBits();
  accepting_more_.clear();
}

}  // namespace millrace::sched
