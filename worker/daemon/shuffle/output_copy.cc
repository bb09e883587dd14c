// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/output_copy.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/net/blocking_stream.h"
#include "base/units.h"
#include "worker/daemon/shuffle/fetch_wire.h"

namespace millrace::shuffle {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

class OutputCopier {
 public:
  OutputCopier(const Source& source, net::BlockingStream stream, Fd file, std::string path,
               const OutputCopyOptions& options)
      : source_(source),
        stream_(std::move(stream)),
        file_(std::move(file)),
        path_(std::move(path)),
        options_(options),
        buffer_(std::make_unique_for_overwrite<char[]>(kPieceBytes)) {}

  Status CopyPartition(std::uint32_t partition) {
    MILLRACE_TRY(stream_.Call(net::Operation::kFetchRuns, EncodeFetch({partition, {source_.map}})).status());
    std::array<char, kSegmentHeaderBytes> bytes;
    MILLRACE_TRY(stream_.Receive(bytes.data(), bytes.size()));
    MILLRACE_ASSIGN(const SegmentHeader header, DecodeSegmentHeader({bytes.data(), bytes.size()}));
    if (header.attempt.task.index != source_.map.task.index || header.attempt.number != source_.map.number)
      return Corrupt("the worker sent another output than the one that was asked for");
    if (header.status != StatusCode::kOk) return Status(header.status, "the worker does not have it");
    MILLRACE_TRY(CopyBytes(header.segment));
    segments_.push_back(header.segment);
    segments_.back().offset = at_;
    at_ += header.segment.length;
    return Status::Ok();
  }

  Result<std::uint64_t> Finish() {
    const std::string index = run::EncodeRunIndex(segments_, at_);
    MILLRACE_TRY(WriteAllAt(file_.get(), index, at_, path_));
    MILLRACE_TRY(CloseFile(std::move(file_), path_));
    return at_ + index.size();
  }

 private:
  Status CopyBytes(const run::SegmentInfo& segment) {
    std::uint32_t crc = 0;
    for (std::uint64_t done = 0; done < segment.length;) {
      if (options_.stop != nullptr && *options_.stop) return Cancelled("this worker stops");
      const std::size_t size = std::min<std::uint64_t>(kPieceBytes, segment.length - done);
      MILLRACE_TRY(stream_.Receive(buffer_.get(), size));
      const std::string_view piece(buffer_.get(), size);
      crc = Crc32c(piece, crc);
      MILLRACE_TRY(CheckRoom(size));
      MILLRACE_TRY(WriteAllAt(file_.get(), piece, at_ + done, path_));
      done += size;
    }
    return crc == segment.crc ? Status::Ok() : Corrupt("its bytes fail their checksum");
  }

  [[nodiscard]] Status CheckRoom(std::size_t size) const {
    if (options_.reserved_bytes == 0) return Status::Ok();
    MILLRACE_ASSIGN(const std::uint64_t free, options_.free(path_));
    if (free >= options_.reserved_bytes + size) return Status::Ok();
    return NoSpace("copy a map output to " + path_ + ": its disk has " + FormatBytes(free) + " free, and " +
                   FormatBytes(options_.reserved_bytes) + " stay free (worker.reserved_bytes)");
  }

  const Source& source_;
  net::BlockingStream stream_;
  Fd file_;
  const std::string path_;
  const OutputCopyOptions& options_;
  const std::unique_ptr<char[]> buffer_;
  std::vector<run::SegmentInfo> segments_;
  std::uint64_t at_ = 0;
};

}  // namespace

Result<std::uint64_t> CopyOutput(const Source& source, std::uint32_t partitions,
                                 const sandbox::TaskDirectories& directories, const std::string& path,
                                 const OutputCopyOptions& options) {
  const std::string what = ToText(source.map) + " from " + source.host + ":" + std::to_string(source.port);
  auto stream = net::BlockingStream::ConnectTcp(source.host, source.port, options.stall, options.credentials);
  if (!stream.ok()) return stream.status().Within(what);
  MILLRACE_ASSIGN(Fd file, directories.Create(path));
  OutputCopier copier(source, *std::move(stream), std::move(file), path, options);
  for (std::uint32_t partition = 0; partition < partitions; ++partition)
    MILLRACE_TRY(copier.CopyPartition(partition).Within(what));
  return copier.Finish();
}

}  // namespace millrace::shuffle
