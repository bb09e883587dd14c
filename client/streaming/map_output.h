// SPDX-License-Identifier: Apache-2.0
// Where the records go that a streaming task's child writes: to the reduces, or to the job's output.
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "client/api/output_formats.h"
#include "client/job/output_files.h"
#include "client/streaming/key_fields.h"
#include "client/streaming/settings.h"
#include "worker/task/collect/collector.h"

namespace millrace::streaming {

// Takes the records of a child: lines with Io::kText, else pairs.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void Line(std::string_view line) = 0;
  virtual void Pair(std::string_view key, std::string_view value) = 0;
};

// Writes the job's output: text, or record files.
class OutputSink final : public RecordSink {
 public:
  // `cut` is that of the lines that come. Requires: `files` and `settings` outlive this.
  OutputSink(OutputFiles& files, const Random& random, const Settings& settings, const LineCut& cut);

  void Line(std::string_view line) override;
  void Pair(std::string_view key, std::string_view value) override;
  // Returns the first failure of what was written.
  [[nodiscard]] Status Finish();

 private:
  OutputFiles& files_;
  const Settings& settings_;
  const LineCut& cut_;
  const bool as_it_is_;  // lines are written as they come
  std::optional<RecordOutput::Writer> records_;
  Status status_;
};

// Sends records to the reduces of their keys, in the order that the settings ask for.
class ShuffleSink final : public RecordSink {
 public:
  // Requires: `settings` outlives this.
  ShuffleSink(map::CollectorOptions options, const Settings& settings);

  void Line(std::string_view line) override;
  void Pair(std::string_view key, std::string_view value) override;
  [[nodiscard]] Status Finish() { return collector_.Finish(); }
  [[nodiscard]] map::CollectorFigures figures() const { return collector_.figures(); }

 private:
  [[nodiscard]] std::uint32_t PartitionOf(std::string_view key);

  const Settings& settings_;
  const std::uint32_t partitions_;
  const SortKey order_;
  map::SortCollector collector_;
  std::string encoded_, parts_;
};

// Holds the records of a map until they take `most` bytes, or until Flush, and then gives them to `combine`, sorted by
// key.
class CombineSink final : public RecordSink {
 public:
  struct Record {
    std::string_view key, value;
  };
  using Combine = std::function<Status(const std::vector<Record>&)>;
  CombineSink(const Settings& settings, std::size_t most, Combine combine)
      : settings_(settings), order_(settings.sort, settings.key_separator), most_(most), combine_(std::move(combine)) {}

  void Line(std::string_view line) override;
  void Pair(std::string_view key, std::string_view value) override;
  // Gives what is held, and returns the first failure of `combine`, after which records are dropped.
  [[nodiscard]] Status Flush();

 private:
  struct Held {
    std::size_t begin = 0;
    std::uint32_t sort_key = 0, key = 0, value = 0;  // sizes; sort_key: 0 where the key is that itself
  };

  const Settings& settings_;
  const SortKey order_;
  const std::size_t most_;
  const Combine combine_;
  std::string bytes_, scratch_;
  std::vector<Held> held_;
  Status status_;
};

}  // namespace millrace::streaming
