// SPDX-License-Identifier: Apache-2.0
// Run files: index and footer, also with a sum that is right, and the segments that they name.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/fuzz/fuzz.h"
#include "worker/task/run/run_file.h"

using namespace millrace;

namespace {

std::string Run(bool compress) {
  const TempDir directory = TempDir::Make("fuzz-run-").value();
  const std::string path = directory.path() + "/run";
  run::RunWriter writer = run::RunWriter::Create(path, compress).value();
  for (int partition = 0; partition < 3; ++partition) {
    writer.BeginPartition(partition == 2 ? run::RecordOrder::kAny : run::RecordOrder::kByKey);
    for (int i = 0; i < 20 * partition; ++i) {
      const std::string key = "key" + std::to_string(100 + i);
      fuzz::Require(writer.Add(key, std::string(partition * 70, 'v')).ok(), "add");
    }
    fuzz::Require(writer.EndPartition().ok(), "end");
  }
  fuzz::Require(writer.Finish().ok(), "finish");
  return ReadWholeFile(path).value();
}

// With the sum of index and footer, where the footer says that the index is.
std::string WithSum(std::string bytes) {
  if (bytes.size() < run::kFooterBytes) return bytes;
  const std::size_t footer = bytes.size() - run::kFooterBytes;
  std::uint64_t at = 0;
  std::memcpy(&at, bytes.data() + footer, sizeof at);
  if (at > footer) return bytes;
  const std::uint32_t crc = Crc32c(std::string_view(bytes).substr(at, footer - at + run::kFooterSummedBytes));
  std::memcpy(bytes.data() + footer + run::kFooterSummedBytes, &crc, sizeof crc);
  return bytes;
}

void ReadSegment(std::string_view stored, const run::SegmentInfo& segment) {
  (void)run::VerifySegment(stored, segment, "segment");
  run::SegmentCursor cursor(stored, segment.compressed, "segment");
  std::size_t records = 0, sum = 0;
  while (cursor.Next() && ++records < 10'000) {
    for (const char c : cursor.key()) sum += static_cast<unsigned char>(c);
    for (const char c : cursor.value()) sum += static_cast<unsigned char>(c);
  }
  fuzz::Require(sum <= std::size_t{255} << 40, "read");
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() { return {Run(false), Run(true)}; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Fd file(::memfd_create("fuzz-run", MFD_CLOEXEC));
  const std::string bytes = WithSum(std::string(fuzz::View(data, size)));
  fuzz::Require(::ftruncate(file.get(), 0) == 0 && WriteAllAt(file.get(), bytes, 0, "run").ok(), "write");
  const auto index = run::ReadRunIndex(file.get(), "run");
  const auto known = run::ReadRunIndex(file.get(), "run", 3);
  fuzz::Require(!known.ok() || (known->size() == 3 && index.ok()), "a number of partitions that was not asked for");
  if (index.ok()) {
    for (const run::SegmentInfo& segment : *index) {
      fuzz::Require(segment.offset <= bytes.size() && segment.length <= bytes.size() - segment.offset,
                    "a segment lies outside of its file");
      ReadSegment(std::string_view(bytes).substr(segment.offset, segment.length), segment);
    }
  }
  // A segment that is any bytes: its checksum is checked by others, and may be right by chance.
  ReadSegment(
      bytes,
      {.offset = 0, .length = bytes.size(), .raw_length = 0, .records = 0, .crc = 0, .compressed = size % 2 == 0});
  return 0;
}
