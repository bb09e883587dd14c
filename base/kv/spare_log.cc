// SPDX-License-Identifier: Apache-2.0
#include "base/kv/spare_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace millrace {
namespace {

constexpr std::uint32_t kBatchMagic = 0x3176736d;  // "msv1"
constexpr std::size_t kHeaderBytes = 32;

std::string HeadOf(std::uint64_t length, std::uint64_t after, std::uint64_t index) {
  Encoder out;
  out.U32(kBatchMagic);
  out.U64(length);
  out.U64(after);
  out.U64(index);
  return out.Take();
}

Status SyncFile(int fd, const std::string& path) {
  return ::fdatasync(fd) == 0 ? Status::Ok() : FromErrno(errno, "sync " + path);
}

}  // namespace

Status SpareLog::Make(const std::string& path, std::uint64_t bytes) {
  return WriteFileDurably(path, std::string(bytes, '\0'));
}

Result<SpareLog> SpareLog::Open(const std::string& path) {
  MILLRACE_ASSIGN(const std::string bytes, ReadWholeFile(path));
  MILLRACE_ASSIGN(Fd fd, OpenFile(path, O_WRONLY));
  SpareLog log(path, std::move(fd), bytes.size());
  while (std::optional<WriteBatch> batch = log.Next(bytes)) {
    log.operations_ += batch->changes().size();
    log.batches_.push_back(*std::move(batch));
  }
  return log;
}

std::optional<WriteBatch> SpareLog::Next(std::string_view bytes) {
  bytes.remove_prefix(end_);
  Decoder in(bytes);
  const std::uint32_t magic = in.U32();
  const std::uint64_t length = in.U64(), after = in.U64(), index = in.U64();
  const std::uint32_t crc = in.U32();
  const std::string_view payload = in.Raw(length);
  if (in.failed() || magic != kBatchMagic || index != batches_.size() || (!empty() && after != after_))
    return std::nullopt;
  if (crc != Crc32c(HeadOf(length, after, index) + std::string(payload))) return std::nullopt;
  Decoder of(payload);
  WriteBatch batch;
  while (of.left() > 0 && !of.failed()) {
    const bool put = of.U8() != 0;
    std::string key(of.Text());
    if (put) {
      batch.Put(std::move(key), std::string(of.Text()));
    } else {
      batch.Remove(std::move(key));
    }
  }
  if (of.failed()) return std::nullopt;
  after_ = after;
  end_ += kHeaderBytes + length;
  return batch;
}

std::uint64_t SpareLog::BytesOf(const WriteBatch& batch) {
  constexpr std::uint64_t kMostBytesOfLengths = 21;
  std::uint64_t bytes = kHeaderBytes;
  for (const WriteBatch::Change& change : batch.changes())
    bytes += kMostBytesOfLengths + change.key.size() + (change.value ? change.value->size() : 0);
  return bytes;
}

std::string SpareLog::Encode(const WriteBatch& batch) const {
  Encoder payload;
  for (const WriteBatch::Change& change : batch.changes()) {
    payload.U8(change.value ? 1 : 0);
    payload.Text(change.key);
    if (change.value) payload.Text(*change.value);
  }
  const std::string head = HeadOf(payload.bytes().size(), after_, batches_.size());
  Encoder out;
  out.Raw(head.data(), head.size());
  out.U32(Crc32c(head + payload.bytes()));
  out.Raw(payload.bytes().data(), payload.bytes().size());
  return out.Take();
}

Status SpareLog::Append(const WriteBatch& batch, std::uint64_t after) {
  if (empty()) after_ = after;
  const std::string record = Encode(batch);
  MILLRACE_TRY(WriteAllAt(fd_.get(), record, end_, path_));
  MILLRACE_TRY(SyncFile(fd_.get(), path_));
  end_ += record.size();
  operations_ += batch.changes().size();
  batches_.push_back(batch);
  return Status::Ok();
}

Status SpareLog::Clear() {
  if (empty()) return Status::Ok();
  MILLRACE_TRY(WriteAllAt(fd_.get(), std::string(kHeaderBytes, '\0'), 0, path_));
  MILLRACE_TRY(SyncFile(fd_.get(), path_));
  end_ = operations_ = 0;
  batches_.clear();
  return Status::Ok();
}

}  // namespace millrace
