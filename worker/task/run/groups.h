// SPDX-License-Identifier: Apache-2.0
// Groups merges sorted segments (segment_merger.h) and cuts the records into groups of equal keys. The values of a key
// come in the order of the segments (the order of the map tasks), so a job sees the same order in every run.
//
// Call NextGroup, then NextValue until it returns false; the next NextGroup skips values that were not taken. The key
// lives until the next NextGroup, a value until the next NextValue. Thread rule: one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "worker/task/run/run_file.h"
#include "worker/task/run/segment_merger.h"

namespace millrace::reduce {

class Groups {
 public:
  explicit Groups(std::vector<run::SegmentCursor> segments) : records_(std::move(segments)) {}

  // Whenever a value is taken, sets `records` to the number of records consumed so far. Requires: `records` outlives
  // this.
  void CountIn(std::atomic<std::uint64_t>& records) { counted_ = &records; }

  // Goes to the next group. Returns false at the end or on a failure (ask status()).
  bool NextGroup();
  [[nodiscard]] std::string_view key() const { return key_; }
  bool NextValue(std::string_view* value) {
    if (position_ == Position::kGiven) Advance();
    if (position_ != Position::kInGroup) return false;
    *value = records_.value();
    position_ = Position::kGiven;
    ++consumed_;
    if (counted_ != nullptr) counted_->store(consumed_, std::memory_order_relaxed);
    return true;
  }
  [[nodiscard]] const Status& status() const { return records_.status(); }
  [[nodiscard]] std::uint64_t records() const {
    return consumed_;
  }                                                               // consumed so far, including those of skipped values
  [[nodiscard]] std::uint64_t groups() const { return groups_; }  // begun so far
  // Returns the raw bytes consumed so far. Divided by the total raw length of the segments, they are the fraction done.
  // The call asks every segment, so do not make it for every record.
  [[nodiscard]] std::uint64_t raw_bytes_consumed() const { return records_.raw_bytes_consumed(); }

 private:
  enum class Position {
    kStart,
    kGiven,        // on a record that was consumed
    kInGroup,      // on a record of the group that was not consumed
    kBehindGroup,  // on the first record of the next group
    kEnd,
  };
  void Advance() {
    position_ = !records_.Next()         ? Position::kEnd
                : records_.key() == key_ ? Position::kInGroup
                                         : Position::kBehindGroup;
  }

  run::SegmentMerger records_;
  std::string key_;
  Position position_ = Position::kStart;
  std::uint64_t consumed_ = 0, groups_ = 0;
  std::atomic<std::uint64_t>* counted_ = nullptr;
};

}  // namespace millrace::reduce
