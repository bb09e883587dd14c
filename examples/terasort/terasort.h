// Sorts records of 100 bytes by their first 10. part-r-00000, part-r-00001, ... are in order one after the other. The
// ranges of the reduces come from a sample of the input that is taken when the job is submitted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/api/job.h"
#include "examples/terasort/range_partition.h"

namespace millrace::examples {

struct TeraSort {
  using Input = FixedRecords<kTeraRecordBytes>;
  using Output = FixedOutput<kTeraRecordBytes>;
  using Key = std::string_view;
  using Value = std::string_view;

  static void Options(JobOptions& options) {
    options.Text("terasort.cuts", "", "first keys of all reduces but the first, in hexadecimal; made from a sample");
    options.Integer("terasort.sample", 0, 0, 10'000'000,
                    "how many keys the sample has; 0: 1000 a reduce, and at least 10000");
    options.Check([](const JobOptions& set) { return FromHex(set.text("terasort.cuts")).status(); });
  }

  static Status Prepare(Preparation& job) {
    if (job.reduces() == 0) return Invalid("sorting takes reduces; give --reducers N");
    if (job.reduces() == 1 || !job.options().text("terasort.cuts").empty()) return Status::Ok();
    const auto asked = static_cast<std::uint64_t>(job.options().integer("terasort.sample"));
    const std::uint64_t size =
        asked != 0 ? asked : std::max<std::uint64_t>(10'000, std::uint64_t{1000} * job.reduces());
    MILLRACE_ASSIGN(std::vector<std::string> keys, Sample(job, size));
    return job.Set("terasort.cuts", ToHex(CutSample(std::move(keys), job.reduces())));
  }

  Status Start(TaskContext& context) {
    MILLRACE_ASSIGN(const std::vector<std::string> cuts, FromHex(context.options().text("terasort.cuts")));
    ranges_ = RangePartition(cuts);
    if (ranges_.ranges() == std::max(context.facts().reduces, 1u)) return Status::Ok();
    return Invalid("terasort.cuts makes " + std::to_string(ranges_.ranges()) + " ranges for " +
                   std::to_string(context.facts().reduces) + " reduces");
  }

  void Map(std::string_view record, auto& emit) { emit(record.substr(0, kTeraKeyBytes), record.substr(kTeraKeyBytes)); }

  std::uint32_t Partition(const std::string_view& key, std::uint32_t) const { return ranges_.Find(key); }

 private:
  // Returns keys of runs of records, which are spread evenly over all files.
  static Result<std::vector<std::string>> Sample(Preparation& job, std::uint64_t size) {
    constexpr std::uint64_t kRun = 200;
    MILLRACE_ASSIGN(const std::vector<InputFile> files, job.Inputs());
    std::uint64_t records = 0;
    for (const InputFile& file : files) records += file.length / kTeraRecordBytes;
    const std::uint64_t runs = std::max<std::uint64_t>(std::min(size, records) / kRun, 1);
    std::vector<std::string> keys;
    std::uint64_t before = 0, run = 0;  // how many records the files before this one have, and how many runs were taken
    for (const InputFile& file : files) {
      const std::uint64_t here = file.length / kTeraRecordBytes;
      for (; run < runs && run * (records / runs) < before + here; ++run) {
        const std::uint64_t at = run * (records / runs) - before;
        MILLRACE_ASSIGN(const std::string bytes,
                        job.Read(file, at * kTeraRecordBytes, std::min(kRun, here - at) * kTeraRecordBytes));
        for (std::size_t i = 0; i + kTeraRecordBytes <= bytes.size(); i += kTeraRecordBytes)
          keys.push_back(bytes.substr(i, kTeraKeyBytes));
      }
      before += here;
    }
    return keys;
  }

  RangePartition ranges_;
};

}  // namespace millrace::examples
