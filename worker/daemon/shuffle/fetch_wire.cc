// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/fetch_wire.h"

#include <limits>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace millrace::shuffle {
namespace {

constexpr std::uint8_t kCompressed = 1;
constexpr std::uint8_t kAnyOrder = 2;
constexpr auto kLastStatus = static_cast<std::uint8_t>(kLastStatusCode);

bool Plausible(const SegmentHeader& header) {
  const run::SegmentInfo& s = header.segment;
  if (header.status != StatusCode::kOk || s.length == 0) {
    return s.length == 0 && s.raw_length == 0 && s.records == 0 && s.crc == 0;
  }
  // A record has at least two lengths, of a byte each.
  return s.length <= kMaxSegmentBytes && (s.compressed || s.raw_length == s.length) && s.records <= s.raw_length / 2;
}

}  // namespace

std::string EncodeFetch(const FetchRequest& request) {
  MILLRACE_CHECK(!request.attempts.empty() && request.attempts.size() <= kMaxFetch, "a fetch names 1 to 2000 attempts");
  Encoder out;
  const JobId job = request.attempts.front().task.job;
  out.U32(job.value);
  out.U32(request.partition);
  out.Varint(request.attempts.size());
  for (const AttemptId& attempt : request.attempts) {
    MILLRACE_CHECK(attempt.task.job == job && !attempt.task.reduce(), "a fetch is for maps of one job");
    out.Varint(attempt.task.index);
    out.Varint(attempt.number);
  }
  return out.Take();
}

Result<FetchRequest> DecodeFetch(std::string_view header) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  Decoder in(header);
  FetchRequest request;
  const JobId job{in.U32()};
  request.partition = in.U32();
  const std::uint64_t count = in.Varint();
  if (count == 0 || count > kMaxFetch) return Invalid("a fetch names 1 to " + std::to_string(kMaxFetch) + " attempts");
  request.attempts.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t map = in.Varint(), number = in.Varint();
    if (map > kMax || number > kMax) return Invalid("a fetch names an attempt out of range");
    request.attempts.push_back(MapAttemptId(job, static_cast<std::uint32_t>(map), static_cast<std::uint32_t>(number)));
  }
  MILLRACE_TRY(in.Finish("a fetch request"));
  return request;
}

std::string EncodeSegmentHeader(const SegmentHeader& header) {
  const run::SegmentInfo& segment = header.segment;
  Encoder out;
  out.U32(header.attempt.task.index);
  out.U32(header.attempt.number);
  out.U8(static_cast<std::uint8_t>(header.status));
  out.U8((segment.compressed ? kCompressed : 0) | (segment.order == run::RecordOrder::kAny ? kAnyOrder : 0));
  out.U8(0);
  out.U8(0);
  out.U32(segment.crc);
  out.U64(segment.length);
  out.U64(segment.raw_length);
  out.U64(segment.records);
  out.U32(Crc32c(out.bytes()));
  return out.Take();
}

Result<SegmentHeader> DecodeSegmentHeader(std::string_view bytes) {
  MILLRACE_CHECK(bytes.size() == kSegmentHeaderBytes, "a segment header has a fixed size");
  Decoder in(bytes);
  SegmentHeader header;
  header.attempt.task.index = in.U32();
  header.attempt.number = in.U32();
  const std::uint8_t status = in.U8(), flags = in.U8(), zero = in.U8(), zero_too = in.U8();
  header.segment.crc = in.U32();
  header.segment.length = in.U64();
  header.segment.raw_length = in.U64();
  header.segment.records = in.U64();
  if (in.U32() != Crc32c(bytes.substr(0, bytes.size() - sizeof(std::uint32_t)))) {
    return Corrupt("a segment header fails its checksum");
  }
  if (status > kLastStatus || (flags & ~(kCompressed | kAnyOrder)) != 0 || zero != 0 || zero_too != 0) {
    return Corrupt("a segment header makes no sense");
  }
  header.status = static_cast<StatusCode>(status);
  header.segment.compressed = (flags & kCompressed) != 0;
  header.segment.order = (flags & kAnyOrder) != 0 ? run::RecordOrder::kAny : run::RecordOrder::kByKey;
  if (!Plausible(header)) return Corrupt("a segment header holds lengths that cannot be");
  return header;
}

}  // namespace millrace::shuffle
