// SPDX-License-Identifier: Apache-2.0
// SegmentMerger returns the records of sorted segments as one sorted stream, with a loser tree (Knuth, TAOCP vol. 3,
// 5.4.1). Equal keys come in the order of the segments. The tree contains and compares the first 16 bytes of each key;
// only longer keys whose first 16 bytes agree are compared in full. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "worker/task/run/run_file.h"

namespace millrace::run {

class SegmentMerger {
 public:
  explicit SegmentMerger(std::vector<SegmentCursor> segments);

  // Goes to the next record. Returns false at the end or at the first segment that fails (see status()). Views live
  // until the next call.
  bool Next() {
    if (winner_ == kNone) [[unlikely]]
      return Start();
    if (segments_[winner_].Next()) [[likely]] {
      if (single_) return true;
      SetKey(winner_);
    } else if (!Drop(winner_)) {
      return false;
    }
    Replay();
    return live_ > 0;
  }
  // These return the key and the value of the current record, the one to which Next went.
  [[nodiscard]] std::string_view key() const { return segments_[winner_].key(); }
  [[nodiscard]] std::string_view value() const { return segments_[winner_].value(); }
  [[nodiscard]] const Status& status() const { return status_; }
  // Returns the raw bytes of the records returned so far and of those that wait in the tree. It asks every segment.
  [[nodiscard]] std::uint64_t raw_bytes_consumed() const;

 private:
  // The first 16 key bytes, big-endian and padded with zeros. `rank` orders keys that agree in these bytes: by length
  // (all lengths above 16 count as equal), then by segment.
  struct Key {
    std::uint64_t high, low, rank;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr Key kLast{~std::uint64_t{0}, ~std::uint64_t{0},
                             ~std::uint64_t{0}};  // the key of a segment at its end

  bool Start();
  bool Drop(std::uint32_t segment);
  void SetKey(std::uint32_t segment);
  void Replay();
  [[nodiscard]] bool Less(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] bool LessInLongKeys(std::uint32_t a, std::uint32_t b) const;

  std::vector<SegmentCursor> segments_;
  std::vector<Key> keys_;              // the current key of each segment
  std::vector<std::uint32_t> losers_;  // inner nodes 1..n-1; the leaf of segment i is node n + i
  std::uint32_t winner_ = kNone;
  std::uint32_t live_ = 0;
  bool single_ = false;
  Status status_;
};

}  // namespace millrace::run
