// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/storage/scrub_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.h"

namespace millrace::worker {
namespace {

template <class Number>
bool ReadNumber(std::string_view* text, Number* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  if (!text->empty()) text->remove_prefix(1);
  return error == std::errc();
}

}  // namespace

ScrubSchedule::ScrubSchedule(Micros period, std::string_view saved, Micros now) : period_(period) {
  MILLRACE_CHECK(period > 0, "the scrub period is not positive");
  while (!saved.empty()) {
    std::string_view line = saved.substr(0, saved.find('\n'));
    saved.remove_prefix(std::min(saved.size(), line.size() + 1));
    std::uint64_t id = 0;
    Micros last = 0;
    if (ReadNumber(&line, &id) && ReadNumber(&line, &last)) Set(id, std::min(last, now));
  }
}

void ScrubSchedule::Set(std::uint64_t id, Micros last) {
  ScheduledScrub& state = blocks_[id];
  by_time_.erase({state.last, id});
  state.last = last;
  by_time_.insert({last, id});
}

void ScrubSchedule::Follow(const std::vector<dfs::StoredBlock>& blocks, Micros now) {
  auto known = blocks_.begin();
  const auto forget_up_to = [&](std::uint64_t id) {
    while (known != blocks_.end() && known->first < id) {
      by_time_.erase({known->second.last, known->first});
      known = blocks_.erase(known);
    }
  };
  for (const dfs::StoredBlock& block : blocks) {
    forget_up_to(block.id);
    if (known == blocks_.end() || known->first != block.id) {
      known = blocks_.emplace_hint(known, block.id, ScheduledScrub{now, 0});
      by_time_.insert({now, block.id});
    }
    known->second.cost = block.length + kBlockCost;
    ++known;
  }
  forget_up_to(std::numeric_limits<std::uint64_t>::max());
}

double ScrubSchedule::SlowestSpeed(Micros from) const {
  double speed = 0, before = 0;
  for (const auto& [last, id] : by_time_) {
    const Micros left = last + period_ / 10 * 9 - from;
    before += static_cast<double>(blocks_.at(id).cost);
    if (left <= 0) return std::numeric_limits<double>::infinity();
    speed = std::max(speed, before / static_cast<double>(left));
  }
  return speed;
}

std::optional<ScrubSchedule::Next> ScrubSchedule::Choose(const std::vector<dfs::StoredBlock>& blocks, Micros now) {
  Follow(blocks, now);
  if (by_time_.empty()) return std::nullopt;
  const std::uint64_t id = by_time_.begin()->second;
  Next next{{id, blocks_.at(id).cost - kBlockCost}, now};
  if (began_ && *began_ <= now) {
    const double time = static_cast<double>(cost_before_) / SlowestSpeed(*began_);
    next.at = std::max(now, *began_ + static_cast<Micros>(std::min(time, static_cast<double>(period_))));
  }
  return next;
}

void ScrubSchedule::Began(std::uint64_t id, Micros at) {
  const auto known = blocks_.find(id);
  if (known == blocks_.end()) return;
  began_ = at;
  cost_before_ = known->second.cost;
  Set(id, at);
}

std::string ScrubSchedule::Text() const {
  std::string text;
  for (const auto& [last, id] : by_time_) text += fmt::format("{} {}\n", id, last);
  return text;
}

}  // namespace millrace::worker
