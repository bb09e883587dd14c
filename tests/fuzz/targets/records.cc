// SPDX-License-Identifier: Apache-2.0
// Record files, also with blocks whose checksums are right; each cut into two splits at every place that the input
// says.
#include <cstring>

#include "client/format/record_file.h"
#include "client/format/record_layout.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

namespace {

std::string File(int records, std::size_t value_bytes) {
  std::string file;
  RecordWriter writer(
      [&](std::string_view bytes) {
        file += bytes;
        return Status::Ok();
      },
      Random(1));
  for (int i = 0; i < records; ++i)
    fuzz::Require(writer.Append("k" + std::to_string(i), std::string(value_bytes, 'v')).ok(), "append");
  fuzz::Require(writer.Finish().ok(), "finish");
  return file;
}

// Every block that the chain of sizes reaches gets the checksum of what it holds.
std::string WithSums(std::string bytes) {
  constexpr std::size_t kSum = record::kBlockHeaderBytes - 4;
  for (std::size_t at = record::kHeaderBytes; at + record::kBlockHeaderBytes <= bytes.size();) {
    std::uint32_t stored = 0;
    std::memcpy(&stored, bytes.data() + at + record::kMarkerBytes + 8, sizeof stored);
    if (stored > bytes.size() - at - record::kBlockHeaderBytes) break;
    const std::string_view block = std::string_view(bytes).substr(at);
    const std::uint32_t sum = record::BlockChecksum(at, block.substr(record::kMarkerBytes, kSum - record::kMarkerBytes),
                                                    block.substr(record::kBlockHeaderBytes, stored));
    std::memcpy(bytes.data() + at + kSum, &sum, sizeof sum);
    at += record::kBlockHeaderBytes + stored;
  }
  return bytes;
}

// Returns the number of records; nothing if the split is damaged.
std::optional<std::uint64_t> Count(const std::string& bytes, std::uint64_t begin, std::uint64_t end) {
  auto reader = RecordReader::Open(
      [&](std::uint64_t offset, std::size_t size, char* out) {
        fuzz::Require(offset <= bytes.size() && size <= bytes.size() - offset, "asked for bytes beyond the file");
        std::memcpy(out, bytes.data() + offset, size);
        return Status::Ok();
      },
      bytes.size(), begin, end, "file");
  if (!reader.ok()) return std::nullopt;
  for (std::uint64_t records = 0;; ++records) {
    const auto record = reader->Next();
    if (!record.ok()) return std::nullopt;
    if (!*record) return records;
  }
}

void CheckSplits(const std::string& bytes, std::uint64_t cut) {
  const auto all = Count(bytes, 0, ~std::uint64_t{0});
  const auto first = Count(bytes, 0, cut), second = Count(bytes, cut, ~std::uint64_t{0});
  if (all && first && second) fuzz::Require(*all == *first + *second, "two splits have other records than the file");
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() { return {File(0, 0), File(3, 10), File(40, 4000), File(2, 30'000)}; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(fuzz::View(data, size));
  const std::uint64_t cut = size == 0 ? 0 : Crc32c(bytes) % (size + 1);
  CheckSplits(bytes, cut);
  CheckSplits(WithSums(bytes), cut);
  return 0;
}
