// SPDX-License-Identifier: Apache-2.0
// The wire format of a fetch of map outputs, on top of the frames of base/net.
//
// Request header: u32 job, u32 partition, varint count (1 to kMaxFetch), then for each map attempt varint map, varint
// number. Reply: an empty OK, then for each attempt, in the order of the request, a segment header and the stored
// bytes. Segment header: u32 map, u32 number, u8 status code, u8 flags (bit 0 compressed, bit 1 in any order), u16
// zero, u32 crc32c of the stored bytes, u64 stored length, u64 raw length, u64 records, u32 crc32c of the header up to
// here. If the status is not OK, the fields after it are zero and no bytes follow. Thread rule: free functions, any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "worker/daemon/shuffle/map_output_server.h"
#include "worker/task/run/run_file.h"

namespace millrace::shuffle {

inline constexpr std::size_t kMaxFetch = 2000;
inline constexpr std::size_t kSegmentHeaderBytes = 44;
inline constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{1} << 40;

struct FetchRequest {
  std::uint32_t partition = 0;
  std::vector<AttemptId> attempts;  // all of one job
};

struct SegmentHeader {
  AttemptId attempt;  // its job is not set
  StatusCode status = StatusCode::kOk;
  run::SegmentInfo segment;  // its offset is not set
};

// Returns the request header. Requires: 1 to kMaxFetch attempts of maps of one job.
[[nodiscard]] std::string EncodeFetch(const FetchRequest& request);
[[nodiscard]] Result<FetchRequest> DecodeFetch(std::string_view header);

[[nodiscard]] std::string EncodeSegmentHeader(const SegmentHeader& header);
// Returns the header; kCorrupt if the checksum is wrong or the numbers are impossible. Requires: `bytes` are exactly
// kSegmentHeaderBytes.
[[nodiscard]] Result<SegmentHeader> DecodeSegmentHeader(std::string_view bytes);

}  // namespace millrace::shuffle
