// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of both collectors.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "worker/task/collect/collector.h"
#include "worker/task/run/run_file.h"

namespace millrace::map {

using Record = std::pair<std::string, std::string>;
using Partitions = std::vector<std::vector<Record>>;

inline std::vector<run::SegmentInfo> ReadIndex(const std::string& path) {
  const Fd fd = OpenFile(path, O_RDONLY).value();
  return run::ReadRunIndex(fd.get(), path).value();
}

inline Partitions ReadRun(const std::string& path) {
  const std::vector<run::SegmentInfo> index = ReadIndex(path);
  const std::string bytes = ReadWholeFile(path).value();
  Partitions partitions;
  for (const run::SegmentInfo& segment : index) {
    const std::string_view stored = std::string_view(bytes).substr(segment.offset, segment.length);
    EXPECT_TRUE(run::VerifySegment(stored, segment, path).ok());
    run::SegmentCursor cursor(stored, segment.compressed, path);
    auto& records = partitions.emplace_back();
    while (cursor.Next()) records.emplace_back(cursor.key(), cursor.value());
    EXPECT_TRUE(cursor.status().ok()) << cursor.status().message();
    EXPECT_EQ(records.size(), segment.records);
  }
  return partitions;
}

// KeySource draws keys of one style. The keys are few or many, short or long, and may have long common beginnings, or
// NUL and 0xff bytes.
class KeySource {
 public:
  explicit KeySource(Random* random) : random_(random), style_(random->Below(6)), distinct_(1 + random->Below(3000)) {}

  std::string Next() {
    const std::uint64_t n = random_->Below(distinct_);
    switch (style_) {
      case 0:
        return std::to_string(n);
      case 1:
        return "a-common-beginning-of-some-length/" + std::to_string(n * 7919);
      case 2:
        return std::string(n % 90, 'x');
      case 3:
        return std::string(n % 30, '\0') + (n % 3 == 0 ? std::string(1, '\xff') : "");
      case 4:
        return std::string(1 + n % 20, '\xff') + std::to_string(n % 10);
      default:
        return n % 50 == 0 ? std::string(9000 + n % 7, 'L') : "k" + std::to_string(n);
    }
  }

 private:
  Random* random_;
  std::uint64_t style_;
  std::uint64_t distinct_;
};

class CollectorTest : public testing::Test {
 protected:
  CollectorTest() : dir_(TempDir::Make("collector").value()) {}

  CollectorOptions Options(std::uint32_t partitions, std::uint64_t memory, bool compress = false) {
    CollectorOptions options;
    options.partitions = partitions;
    options.memory = memory;
    options.run_file = dir_.path() + "/result";
    options.scratch = dir_.path();
    options.compress = compress;
    return options;
  }
  Partitions Output() { return ReadRun(dir_.path() + "/result"); }
  std::vector<run::SegmentInfo> Index() { return ReadIndex(dir_.path() + "/result"); }
  // Expects that only the result is left. Requires: the collector is gone.
  void ExpectNoSpillsLeft() { EXPECT_EQ(ListDirectory(dir_.path()).value(), std::vector<std::string>{"result"}); }

  TempDir dir_;
};

}  // namespace millrace::map
