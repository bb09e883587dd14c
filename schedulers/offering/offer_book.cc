#include "schedulers/offering/offer_book.h"

#include <algorithm>

namespace millrace::sched {
namespace {

// The least member of both that is at least `from`.
std::uint32_t NextCommon(const OrderedBits& a, const OrderedBits& b, std::uint32_t from) {
  while (true) {
    const std::uint32_t first = a.NextFrom(from);
    if (first == OrderedBits::kNone) return first;
    from = b.NextFrom(first);
    if (from == first || from == OrderedBits::kNone) return from;
  }
}

}  // namespace

void OfferBook::Reset(std::uint32_t node_ids) {
  grown_.clear();
  if (node_ids == node_ids_ && settled_.empty()) return;
  node_ids_ = node_ids;
  fresh_ = OrderedBits::Full(node_ids);
  settled_ = asked_ = OrderedBits();
}

void OfferBook::Grow(JobId job) {
  if (settled_.empty()) return;
  if (std::find(grown_.begin(), grown_.end(), job) == grown_.end()) grown_.push_back(job);
  if (grown_.size() > kMaxGrown) return Reset();
  asked_ = settled_;
}

void OfferBook::Forget(JobId job) { std::erase(grown_, job); }

std::uint32_t OfferBook::NextToOffer(const OrderedBits& free, std::uint32_t from, std::uint32_t end) const {
  std::uint32_t next = NextCommon(free, fresh_, from);
  if (!asked_.empty()) next = std::min(next, NextCommon(free, asked_, from));
  return next < end ? next : OrderedBits::kNone;
}

void OfferBook::Settle(std::uint32_t node) {
  fresh_.Erase(node);
  settled_.Insert(node);
  asked_.Erase(node);
}

// The grown jobs are done with. What was not free by now they have not refused.
void OfferBook::EndWalk() {
  for (const std::uint32_t node : asked_) {
    settled_.Erase(node);
    fresh_.Insert(node);
  }
  if (!asked_.empty()) asked_ = OrderedBits();
  grown_.clear();
}

}  // namespace millrace::sched
