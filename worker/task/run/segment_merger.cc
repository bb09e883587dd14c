// SPDX-License-Identifier: Apache-2.0
#include "worker/task/run/segment_merger.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "worker/task/run/key_words.h"

namespace millrace::run {
namespace {

constexpr std::uint64_t kLong = kKeyWordBytes + 1;  // the length in the rank of a key that does not fit the words

}  // namespace

SegmentMerger::SegmentMerger(std::vector<SegmentCursor> segments)
    : segments_(std::move(segments)), keys_(segments_.size(), kLast), losers_(segments_.size()) {
  MILLRACE_CHECK(segments_.size() < kNone, "too many segments");
}

void SegmentMerger::SetKey(std::uint32_t segment) {
  const std::string_view key = segments_[segment].key();
  const KeyWords words = LoadKeyWords(key);
  const std::uint64_t length = std::min<std::uint64_t>(key.size(), kLong);
  keys_[segment] = {__builtin_bswap64(words.low), __builtin_bswap64(words.high), length << 32 | segment};
}

bool SegmentMerger::Drop(std::uint32_t segment) {
  if (!segments_[segment].status().ok()) {
    status_ = segments_[segment].status();
    live_ = 0;
    return false;
  }
  if (live_ == 0) return false;
  --live_;
  keys_[segment] = kLast;
  return live_ > 0;
}

bool SegmentMerger::Start() {
  const auto count = static_cast<std::uint32_t>(segments_.size());
  if (count == 0 || !status_.ok()) return false;
  live_ = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (segments_[i].Next()) {
      SetKey(i);
    } else {
      Drop(i);
      if (!status_.ok()) return false;
    }
  }
  // The winners of the games rise from the leaves, and the losers stay.
  std::vector<std::uint32_t> winners(2 * std::size_t{count});
  for (std::uint32_t i = 0; i < count; ++i) winners[count + i] = i;
  for (std::uint32_t node = count - 1; node >= 1; --node) {
    const std::uint32_t a = winners[2 * node], b = winners[2 * node + 1];
    const bool a_wins = Less(a, b);
    winners[node] = a_wins ? a : b;
    losers_[node] = a_wins ? b : a;
  }
  winner_ = winners[1];
  single_ = count == 1;
  return live_ > 0;
}

bool SegmentMerger::LessInLongKeys(std::uint32_t a, std::uint32_t b) const {
  const bool a_ended = keys_[a].rank == kLast.rank, b_ended = keys_[b].rank == kLast.rank;
  if (a_ended || b_ended) return !a_ended || (b_ended && a < b);
  const int order = segments_[a].key().substr(kKeyWordBytes).compare(segments_[b].key().substr(kKeyWordBytes));
  return order != 0 ? order < 0 : a < b;
}

bool SegmentMerger::Less(std::uint32_t a, std::uint32_t b) const {
  const Key& x = keys_[a];
  const Key& y = keys_[b];
  if (x.high == y.high && x.low == y.low && (x.rank >> 32) >= kLong && (y.rank >> 32) >= kLong) [[unlikely]] {
    return LessInLongKeys(a, b);
  }
  // This has no branches, because nobody can foretell which key wins.
  const bool low_less = (x.low < y.low) | ((x.low == y.low) & (x.rank < y.rank));
  return (x.high < y.high) | ((x.high == y.high) & low_less);
}

void SegmentMerger::Replay() {
  std::uint32_t winner = winner_;
  const auto count = static_cast<std::uint32_t>(segments_.size());
  for (std::uint32_t node = (count + winner) / 2; node >= 1; node /= 2) {
    const std::uint32_t rival = losers_[node];
    const bool rival_wins = Less(rival, winner);
    losers_[node] = rival_wins ? winner : rival;
    winner = rival_wins ? rival : winner;
  }
  winner_ = winner;
}

std::uint64_t SegmentMerger::raw_bytes_consumed() const {
  std::uint64_t sum = 0;
  for (const SegmentCursor& segment : segments_) sum += segment.raw_bytes_consumed();
  return sum;
}

}  // namespace millrace::run
