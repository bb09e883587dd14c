// MergedRecords gives the records of many sorted segments as one sorted stream. Equal keys come in the order of the
// segments (which is the order of map tasks), so a job sees the same order of values in every run.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "worker/task/run/run_file.h"
#include "worker/task/run/segment_merger.h"

namespace millrace::reduce {

class MergedRecords {
 public:
  explicit MergedRecords(std::vector<run::SegmentCursor> segments) : merger_(std::move(segments)) {}

  // Goes to the next record. Returns false at the end or on a failure (ask status()). Views live until the next call.
  bool Next() { return merger_.Next(); }
  [[nodiscard]] std::string_view key() const { return merger_.key(); }
  [[nodiscard]] std::string_view value() const { return merger_.value(); }
  [[nodiscard]] const Status& status() const { return merger_.status(); }
  // Returns the raw bytes consumed so far; divided by the segments' raw lengths in all, they are the fraction done. It
  // asks every segment, so it is not for every record.
  [[nodiscard]] std::uint64_t raw_bytes_consumed() const { return merger_.raw_bytes_consumed(); }

 private:
  run::SegmentMerger merger_;
};

// Cuts the same stream into groups of equal keys. Call NextGroup, then NextValue until it returns false; the next
// NextGroup skips values that were not asked for. The key lives until the next NextGroup, a value until the next
// NextValue.
class Groups {
 public:
  explicit Groups(MergedRecords records) : records_(std::move(records)) {}

  // Goes to the next group. Returns false at the end or on a failure (ask status()).
  bool NextGroup();
  [[nodiscard]] std::string_view key() const { return key_; }
  bool NextValue(std::string_view* value) {
    if (place_ == Place::kGiven) Advance();
    if (place_ != Place::kInGroup) return false;
    *value = records_.value();
    place_ = Place::kGiven;
    ++consumed_;
    return true;
  }
  [[nodiscard]] const Status& status() const { return records_.status(); }
  [[nodiscard]] std::uint64_t records() const { return consumed_; }  // consumed so far, with those of skipped values
  [[nodiscard]] std::uint64_t groups() const { return groups_; }     // begun so far
  [[nodiscard]] std::uint64_t raw_bytes_consumed() const { return records_.raw_bytes_consumed(); }

 private:
  enum class Place {
    kStart,
    kGiven,        // on a record that was consumed
    kInGroup,      // on a record of the group that was not consumed
    kBehindGroup,  // on the first record of the next group
    kEnd,
  };
  void Advance() {
    place_ = !records_.Next() ? Place::kEnd : records_.key() == key_ ? Place::kInGroup : Place::kBehindGroup;
  }

  MergedRecords records_;
  std::string key_;
  Place place_ = Place::kStart;
  std::uint64_t consumed_ = 0, groups_ = 0;
};

}  // namespace millrace::reduce
