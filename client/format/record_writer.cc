// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "client/format/record_layout.h"

namespace millrace {

using namespace record;

struct RecordWriter::Compressor {
  ~Compressor() { ZSTD_freeCCtx(context); }

  // Returns the compressed bytes, or nothing if compression does not make them fewer.
  std::optional<std::string_view> Shrink(std::string_view raw) {
    out.resize(raw.size());
    const std::size_t size = ZSTD_compressCCtx(context, out.data(), out.size(), raw.data(), raw.size(), 1);
    if (ZSTD_isError(size) || size >= raw.size()) return std::nullopt;  // too little room is an error too
    return std::string_view(out.data(), size);
  }

  ZSTD_CCtx* context = ZSTD_createCCtx();
  std::string out;
};

RecordWriter::RecordWriter(Sink sink, Random random)
    : sink_(std::move(sink)), compressor_(std::make_unique<Compressor>()) {
  const std::uint64_t halves[] = {random.Next(), random.Next()};
  std::memcpy(marker_.data(), halves, sizeof halves);
}

RecordWriter::~RecordWriter() = default;

Status RecordWriter::Append(std::string_view key, std::string_view value) {
  MILLRACE_TRY(failure_);
  if (key.size() > kLargestRecord || value.size() > kLargestRecord - key.size()) {
    return Invalid("record file: a record of " + std::to_string(key.size()) + " + " + std::to_string(value.size()) +
                   " bytes is larger than " + std::to_string(kLargestRecord));
  }
  Encoder record;
  record.Text(key);
  record.Text(value);
  if (!raw_.empty() && raw_.size() + record.bytes().size() > kRecordBlockBytes) {
    MILLRACE_TRY(WriteBlock(raw_, 0));
    raw_.clear();
  }
  raw_ += record.bytes();
  ++records_;
  return Status::Ok();
}

Status RecordWriter::Finish() {
  MILLRACE_TRY(failure_);
  if (!raw_.empty()) MILLRACE_TRY(WriteBlock(raw_, 0));
  raw_.clear();
  Encoder totals;
  totals.U64(blocks_);
  totals.U64(records_);
  return WriteBlock(totals.bytes(), kTrailer);
}

Status RecordWriter::WriteHeader() {
  Encoder header;
  header.Raw(kMagic.data(), kMagic.size());
  header.U32(kVersion);
  header.Raw(marker_.data(), marker_.size());
  header.U32(Crc32c(header.bytes()));
  return Write(header.bytes());
}

Status RecordWriter::WriteBlock(std::string_view raw, std::uint32_t flags) {
  if (offset_ == 0) MILLRACE_TRY(WriteHeader());
  std::string_view stored = raw;
  if (flags == 0) {
    if (const auto shrunk = compressor_->Shrink(raw)) {
      stored = *shrunk;
      flags = kCompressed;
    }
  }
  Encoder fields;
  fields.U64(previous_);
  fields.U32(static_cast<std::uint32_t>(stored.size()));
  fields.U32(static_cast<std::uint32_t>(raw.size()));
  fields.U32(flags);
  Encoder block;
  block.Raw(marker_.data(), marker_.size());
  block.Raw(fields.bytes().data(), fields.bytes().size());
  block.U32(BlockChecksum(offset_, fields.bytes(), stored));
  block.Raw(stored.data(), stored.size());
  previous_ = offset_;
  ++blocks_;
  return Write(block.bytes());
}

Status RecordWriter::Write(std::string_view bytes) {
  offset_ += bytes.size();
  failure_ = sink_(bytes);
  return failure_;
}

}  // namespace millrace
