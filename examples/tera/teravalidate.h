// SPDX-License-Identifier: Apache-2.0
// Checks the output of terasort: in each file, and from one file to the next in order of names, no key may be less than
// the key before it. It writes a line "misorder TAB file TAB what" for each split in which a key is less than the one
// before it, or whose first key is less than the last key of the splits before it. Then it writes "checksum TAB sum of
// the records' CRC-32C" and "records TAB number", to be compared with the counters of teragen. It allows at most one
// reduce.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "client/api/job.h"
#include "examples/tera/tera_record.h"

namespace millrace::examples {

// The summary of a split's records.
struct TeraSummary {
  char first[kTeraKeyBytes] = {};
  char last[kTeraKeyBytes] = {};
  std::uint64_t records = 0;
  std::uint64_t checksum = 0;
  std::uint64_t misorders = 0;  // the number of records that follow one with a greater key

  void Add(std::string_view record) {
    const char* const key = record.data();
    if (records++ == 0)
      std::memcpy(first, key, kTeraKeyBytes);
    else if (std::memcmp(last, key, kTeraKeyBytes) > 0)
      ++misorders;
    std::memcpy(last, key, kTeraKeyBytes);
    checksum += Crc32c(record);
  }
};

// Gives one record for each split: its summary.
struct TeraSummaries {
  using Record = TeraSummary;
  static constexpr SplitBy kSplitBy = SplitBy::kFixed;
  static constexpr std::uint32_t kRecordBytes = kTeraRecordBytes;

  template <class OnRecord>
  static Status Read(ByteSource& source, const Split& split, const ReadOptions&, OnRecord&& on_record) {
    TeraSummary summary;
    const auto add = [&](std::string_view record, std::uint64_t) { summary.Add(record); };
    MILLRACE_TRY(ReadFixedRecords(source, split, kTeraRecordBytes, add));
    on_record(summary, split.offset);
    return Status::Ok();
  }
};

struct TeraValidate {
  using Input = TeraSummaries;
  using Key = Nothing;
  using Value = std::string_view;  // a summary and the name of its file, in order of splits

  explicit TeraValidate(TaskContext& context) : context_(context) {}

  void Map(const TeraSummary& summary, auto& emit) {
    value_.assign(reinterpret_cast<const char*>(&summary), sizeof summary).append(context_.input_name());
    emit(Nothing{}, value_);
  }

  void Reduce(Nothing, auto& values, auto& emit) {
    TeraSummary all;
    for (const std::string_view value : values) {
      TeraSummary split;
      if (value.size() < sizeof split) continue;  // no map of this job writes less
      std::memcpy(&split, value.data(), sizeof split);
      if (split.records == 0) continue;
      const std::string name(value.substr(sizeof split));
      if (split.misorders > 0) {
        emit("misorder", name + "\t" + std::to_string(split.misorders) + " records after greater ones");
      }
      if (all.records > 0 && std::memcmp(all.last, split.first, kTeraKeyBytes) > 0) {
        emit("misorder", name + "\tbegins before the end of what comes before it");
      }
      std::memcpy(all.last, split.last, kTeraKeyBytes);
      all.records += split.records;
      all.checksum += split.checksum;
    }
    emit("checksum", all.checksum);
    emit("records", all.records);
  }

 private:
  TaskContext& context_;
  std::string value_;
};

}  // namespace millrace::examples
