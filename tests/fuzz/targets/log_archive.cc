// SPDX-License-Identifier: Apache-2.0
// Archives of job logs, with the sum of the index made right: what is read from one is what its index says, or a
// failure, and nothing outside of the file is asked for.
#include "dfs/wire/log_archive.h"

#include <cstring>

#include "tests/fuzz/fuzz.h"

using namespace millrace;

namespace {

constexpr std::size_t kTrailerBytes = 32;

std::string Archive(int attempts) {
  std::string file;
  dfs::LogArchiveWriter writer([&](std::string_view bytes) {
    file += bytes;
    return Status::Ok();
  });
  for (int i = 0; i < attempts; ++i) {
    const AttemptId attempt{{JobId{7}, TaskKind::kMap, static_cast<std::uint32_t>(i)}, 0};
    fuzz::Require(writer.Begin(attempt, i % 2 == 0).ok() && writer.Add(std::string(100 * i, 'x')).ok() &&
                      writer.Add("a line\n").ok() && writer.End(100 * i + 7).ok(),
                  "write");
  }
  fuzz::Require(writer.Finish().ok(), "finish");
  return file;
}

std::string WithSum(std::string bytes) {
  if (bytes.size() < kTrailerBytes) return bytes;
  const std::size_t trailer = bytes.size() - kTrailerBytes;
  std::uint64_t at = 0;
  std::memcpy(&at, bytes.data() + trailer, sizeof at);
  if (at > trailer) return bytes;
  const std::uint32_t crc = Crc32c(std::string_view(bytes).substr(at, trailer - at));
  std::memcpy(bytes.data() + trailer + 16, &crc, sizeof crc);
  return bytes;
}

}  // namespace

std::vector<std::string> millrace::fuzz::Seeds() { return {Archive(0), Archive(1), Archive(5)}; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = WithSum(std::string(fuzz::View(data, size)));
  const auto reader = dfs::LogArchiveReader::Open(bytes.size(), [&](std::uint64_t offset, std::uint64_t length) {
    fuzz::Require(offset <= bytes.size() && length <= bytes.size() - offset, "a place outside of the file is read");
    return Result<std::string>(bytes.substr(offset, length));
  });
  if (!reader.ok()) {
    fuzz::Require(reader.status().code() == StatusCode::kCorrupt, "a damaged file is told as something else");
    return 0;
  }
  for (const dfs::ArchivedStream& stream : reader->streams()) {
    std::uint64_t got = 0;
    const Status read = reader->Read(stream, [&](std::string_view piece) { got += piece.size(); });
    fuzz::Require(got <= stream.kept, "more comes out than the index says");
    fuzz::Require(!read.ok() || got == stream.kept, "less comes out than the index says");
    fuzz::Require(reader->Find(stream.attempt, stream.standard_error) != nullptr, "a stream is not found");
  }
  return 0;
}
