// SPDX-License-Identifier: Apache-2.0
// The format of an archive of logs: what the attempts of one job on one node printed (dfs/wire/job_logs.h says where it
// lies). It is written from front to back, so that its writer keeps little in memory, and read by its end:
//
//   magic     "MRLOGS1\n"
//   streams   one after the other, each one zstd frame
//   index     text, a line for each stream, in the order of the streams:
//             ATTEMPT out|err OFFSET STORED KEPT PRINTED CRC32C
//   trailer   32 bytes: offset and length of the index (u64 each), its crc32c (u32), 0 (u32), "MRLOGEND"
//
// OFFSET and STORED are the place of the frame in the file, KEPT the bytes that it gives, CRC32C (8 hex digits) their
// checksum. PRINTED is how many bytes the attempt printed; if that is more than fits, the middle is cut, and a line of
// the text says so. `millrace fs tail` shows the index. A reader trusts no byte of it: every number is checked against
// the file, and no more than KEPT bytes are made of a frame. Thread rule: one thread at a time for each object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/status.h"

namespace millrace::dfs {

struct ArchivedStream {
  AttemptId attempt;
  bool standard_error = false;
  std::uint64_t offset = 0, stored = 0;
  std::uint64_t kept = 0, printed = 0;
  std::uint32_t crc = 0;
  bool operator==(const ArchivedStream&) const = default;
};

class LogArchiveWriter {
 public:
  using Sink = std::function<Status(std::string_view bytes)>;
  // `write` takes the bytes of the file, in order. The first failure of it ends the writing.
  explicit LogArchiveWriter(Sink write);
  ~LogArchiveWriter();

  // Begins the next stream. Requires: no stream of this name was written, and the last one was ended.
  [[nodiscard]] Status Begin(const AttemptId& attempt, bool standard_error);
  [[nodiscard]] Status Add(std::string_view text);
  // `printed` is how many bytes the attempt printed.
  [[nodiscard]] Status End(std::uint64_t printed);
  // Writes the index and the trailer.
  [[nodiscard]] Status Finish();
  [[nodiscard]] std::uint64_t bytes() const;  // of the file, so far

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

class LogArchiveReader {
 public:
  // Returns exactly `size` bytes from `offset` on, or a failure. Requires of the caller: nothing beyond the length that
  // Open was given is asked for.
  using ReadAt = std::function<Result<std::string>(std::uint64_t offset, std::uint64_t size)>;
  // Reads and checks the index of a file of `length` bytes. Returns kCorrupt if it is damaged.
  [[nodiscard]] static Result<LogArchiveReader> Open(std::uint64_t length, ReadAt read);

  [[nodiscard]] const std::vector<ArchivedStream>& streams() const { return streams_; }
  // Returns the stream; null if the archive has none of this name.
  [[nodiscard]] const ArchivedStream* Find(const AttemptId& attempt, bool standard_error) const;
  // Gives the text of the stream to `sink`, piece by piece. Returns kCorrupt if it is damaged, which may show after
  // pieces were given. Requires: `stream` is one of streams().
  [[nodiscard]] Status Read(const ArchivedStream& stream, const std::function<void(std::string_view)>& sink) const;

 private:
  LogArchiveReader(std::vector<ArchivedStream> streams, ReadAt read)
      : streams_(std::move(streams)), read_(std::move(read)) {}
  std::vector<ArchivedStream> streams_;
  ReadAt read_;
};

// Returns for streams of these sizes how many bytes of each are kept, so that together at most `room` are: the short
// ones whole, and of all others the same.
[[nodiscard]] std::vector<std::uint64_t> ShareRoom(const std::vector<std::uint64_t>& sizes, std::uint64_t room);

}  // namespace millrace::dfs
