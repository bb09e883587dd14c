// MergedRecords: the records of many sorted segments as one sorted stream, by a loser tree; equal keys come in the order of
// the segments (which is the order of map tasks), so a job sees the same order of values in every run.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "worker/run/run_file.h"

namespace millrace::reduce {

class MergedRecords {
 public:
  explicit MergedRecords(std::vector<run::SegmentCursor> segments);
  MergedRecords(MergedRecords&&) noexcept;
  MergedRecords& operator=(MergedRecords&&) noexcept;
  ~MergedRecords();

  // To the next record; false at the end or on a failure (ask status()). Views live until the next call.
  bool Next();
  [[nodiscard]] std::string_view key() const;
  [[nodiscard]] std::string_view value() const;
  [[nodiscard]] const Status& status() const;
  // Raw bytes consumed, of raw_bytes in all: the fraction done.
  [[nodiscard]] std::uint64_t raw_bytes_consumed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same stream cut into groups of equal keys: NextGroup, then NextValue until false; values that were not asked for are
// skipped by the next NextGroup. The key lives until the next NextGroup, a value until the next NextValue.
class Groups {
 public:
  explicit Groups(MergedRecords records);
  ~Groups();
  bool NextGroup();
  [[nodiscard]] std::string_view key() const;
  bool NextValue(std::string_view* value);
  [[nodiscard]] const Status& status() const;
  [[nodiscard]] std::uint64_t records() const;  // consumed so far
  [[nodiscard]] std::uint64_t groups() const;
  [[nodiscard]] std::uint64_t raw_bytes_consumed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::reduce
