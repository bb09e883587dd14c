// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <zstd.h>

#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "worker/task/run/run_file.h"
#include "worker/task/run/varint.h"

namespace millrace::run {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{512} << 10;
constexpr std::size_t kHeaderBytes = 2 * kMaxVarintBytes;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

}  // namespace

struct RunWriter::Impl {
  Fd fd;
  std::string path;
  bool compress = false;  // also set as long as `decide` has not been asked
  Decide decide;
  Status failure;
  std::vector<SegmentInfo> segments;
  bool open = false;  // the last segment is being written

  std::unique_ptr<char[]> buffer{new char[kBufferBytes]};  // stored bytes to be written
  std::size_t used = 0;
  std::size_t summed = 0;     // how many of those are in the CRC of their segment
  std::uint64_t flushed = 0;  // bytes in the file

  std::string frame;  // raw records, when compressing
  std::string compressed;
  std::unique_ptr<ZSTD_CCtx, FreeContext> context;

  Status Fail(Status status) {
    failure = std::move(status);
    return failure;
  }
  void Sum() {
    if (open) segments.back().crc = Crc32c({buffer.get() + summed, used - summed}, segments.back().crc);
    summed = used;
  }
  Status Flush() {
    Sum();
    if (Status status = WriteAll(fd.get(), {buffer.get(), used}, path); !status.ok()) return Fail(std::move(status));
    flushed += used;
    used = summed = 0;
    return Status::Ok();
  }
  Status Store(std::string_view data) {
    if (data.size() > kBufferBytes - used) MILLRACE_TRY(Flush());
    if (data.size() <= kBufferBytes - used) {
      std::memcpy(buffer.get() + used, data.data(), data.size());
      used += data.size();
      return Status::Ok();
    }
    if (open) segments.back().crc = Crc32c(data, segments.back().crc);
    if (Status status = WriteAll(fd.get(), data, path); !status.ok()) return Fail(std::move(status));
    flushed += data.size();
    return Status::Ok();
  }
  Status CutFrame();
  Status DecideCompression();
  void MakeContext();
  Status AddToFrame(std::string_view header, std::string_view key, std::string_view value);
  Status AddToBuffer(std::string_view header, std::string_view key, std::string_view value);
};

void RunWriter::Impl::MakeContext() {
  context.reset(ZSTD_createCCtx());
  MILLRACE_CHECK(context != nullptr, "out of memory for a zstd context");
}

// Decides by the first records, which no segment holds yet, whether the run is compressed.
Status RunWriter::Impl::DecideCompression() {
  compress = std::exchange(decide, nullptr)(frame);
  segments.back().compressed = compress;
  if (compress) {
    MakeContext();
    return Status::Ok();
  }
  MILLRACE_TRY(Store(frame));
  frame = {};
  return Status::Ok();
}

Status RunWriter::Impl::CutFrame() {
  if (frame.empty()) return Status::Ok();
  if (decide) MILLRACE_TRY(DecideCompression());
  if (frame.empty()) return Status::Ok();
  compressed.resize(ZSTD_compressBound(frame.size()));
  const std::size_t size =
      ZSTD_compressCCtx(context.get(), compressed.data(), compressed.size(), frame.data(), frame.size(), kZstdLevel);
  const bool shrunk = ZSTD_isError(size) == 0 && size < frame.size();
  const std::string_view stored = shrunk ? std::string_view(compressed).substr(0, size) : std::string_view(frame);
  const std::uint32_t lengths[2] = {static_cast<std::uint32_t>(stored.size()),
                                    static_cast<std::uint32_t>(frame.size())};
  MILLRACE_TRY(Store({reinterpret_cast<const char*>(lengths), sizeof lengths}));
  MILLRACE_TRY(Store(stored));
  frame.clear();
  return Status::Ok();
}

Status RunWriter::Impl::AddToFrame(std::string_view header, std::string_view key, std::string_view value) {
  const std::size_t size = header.size() + key.size() + value.size();
  if (size > kFrameBytes || frame.size() > kFrameBytes - size) MILLRACE_TRY(CutFrame());
  if (!compress) return AddToBuffer(header, key, value);
  frame.append(header).append(key).append(value);
  return Status::Ok();
}

Status RunWriter::Impl::AddToBuffer(std::string_view header, std::string_view key, std::string_view value) {
  MILLRACE_TRY(Store(header));
  MILLRACE_TRY(Store(key));
  return Store(value);
}

RunWriter::RunWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter& RunWriter::operator=(RunWriter&&) noexcept = default;
RunWriter::~RunWriter() = default;

Result<RunWriter> RunWriter::Create(const std::string& path, bool compress) {
  auto impl = std::make_unique<Impl>();
  MILLRACE_ASSIGN(impl->fd, OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC));
  impl->path = path;
  impl->compress = compress;
  if (compress) impl->MakeContext();
  return RunWriter(std::move(impl));
}

Result<RunWriter> RunWriter::Create(const std::string& path, Decide decide) {
  MILLRACE_ASSIGN(RunWriter writer, Create(path, false));
  writer.impl_->compress = true;
  writer.impl_->decide = std::move(decide);
  return writer;
}

void RunWriter::BeginPartition(RecordOrder order) {
  if (!impl_->failure.ok()) return;
  MILLRACE_CHECK(!impl_->open, impl_->path);
  impl_->Sum();
  SegmentInfo segment;
  segment.offset = bytes();
  segment.compressed = impl_->compress && !impl_->decide;
  segment.order = order;
  impl_->segments.push_back(segment);
  impl_->open = true;
}

Status RunWriter::Add(std::string_view key, std::string_view value) {
  Impl& impl = *impl_;
  if (!impl.failure.ok()) return impl.failure;
  MILLRACE_CHECK(impl.open, impl.path);
  if (key.size() > kMaxRecordBytes || value.size() > kMaxRecordBytes - key.size()) {
    return impl.Fail(Invalid("write " + impl.path + ": a record of " + std::to_string(key.size() + value.size()) +
                             " bytes is too long, the limit is " + std::to_string(kMaxRecordBytes)));
  }
  char header[kHeaderBytes];
  SegmentInfo& segment = impl.segments.back();
  ++segment.records;
  if (!impl.compress && key.size() + value.size() + kHeaderBytes <= kBufferBytes - impl.used) [[likely]] {
    char* const begin = impl.buffer.get() + impl.used;
    char* out = PutVarint(PutVarint(begin, key.size()), value.size());
    std::memcpy(out, key.data(), key.size());
    out += key.size();
    std::memcpy(out, value.data(), value.size());
    const auto size = static_cast<std::size_t>(out - begin) + value.size();
    impl.used += size;
    segment.raw_length += size;
    return Status::Ok();
  }
  const char* const end = PutVarint(PutVarint(header, key.size()), value.size());
  const std::string_view lengths(header, static_cast<std::size_t>(end - header));
  segment.raw_length += lengths.size() + key.size() + value.size();
  return impl.compress ? impl.AddToFrame(lengths, key, value) : impl.AddToBuffer(lengths, key, value);
}

Status RunWriter::AddEncoded(std::string_view records, std::uint64_t count) {
  Impl& impl = *impl_;
  if (!impl.failure.ok()) return impl.failure;
  MILLRACE_CHECK(impl.open, impl.path);
  const bool one_frame = records.size() <= kFrameBytes || (count == 1 && records.size() <= kMaxRecordBytes);
  if (impl.compress && !one_frame) {
    SegmentCursor cursor(records, false, "encoded records for " + impl.path);
    while (cursor.Next()) MILLRACE_TRY(Add(cursor.key(), cursor.value()));
    return cursor.status().ok() ? Status::Ok() : impl.Fail(cursor.status());
  }
  impl.segments.back().records += count;
  impl.segments.back().raw_length += records.size();
  return impl.compress ? impl.AddToFrame(records, {}, {}) : impl.Store(records);
}

Status RunWriter::EndPartition() {
  if (!impl_->failure.ok()) return impl_->failure;
  MILLRACE_CHECK(impl_->open, impl_->path);
  MILLRACE_TRY(impl_->CutFrame());
  impl_->Sum();
  impl_->segments.back().length = bytes() - impl_->segments.back().offset;
  impl_->open = false;
  return Status::Ok();
}

std::string EncodeRunIndex(const std::vector<SegmentInfo>& segments, std::uint64_t bytes) {
  Encoder out;
  for (const SegmentInfo& segment : segments) {
    out.U64(segment.offset);
    out.U64(segment.length);
    out.U64(segment.raw_length);
    out.U64(segment.records);
    out.U32(segment.crc);
    out.U32((segment.compressed ? kFlagCompressed : 0) | (segment.order == RecordOrder::kAny ? kFlagAnyOrder : 0));
  }
  out.U64(bytes);
  out.U32(static_cast<std::uint32_t>(segments.size()));
  out.U32(Crc32c(out.bytes()));
  out.U64(kRunMagic);
  return out.Take();
}

Status RunWriter::Finish() {
  if (!impl_->failure.ok()) return impl_->failure;
  MILLRACE_CHECK(!impl_->open, impl_->path);
  MILLRACE_TRY(impl_->Store(EncodeRunIndex(impl_->segments, bytes())));
  MILLRACE_TRY(impl_->Flush());
  return CloseFile(std::move(impl_->fd), impl_->path);
}

std::uint64_t RunWriter::bytes() const { return impl_->flushed + impl_->used; }

}  // namespace millrace::run
