// SPDX-License-Identifier: Apache-2.0
// Requests for map outputs and the headers of segments, these also with a checksum that is right.
#include "tests/fuzz/fuzz.h"
#include "worker/daemon/shuffle/fetch_wire.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  shuffle::SegmentHeader header;
  header.attempt = MapAttemptId(JobId{0}, 7, 2);
  header.segment = {.offset = 0, .length = 100, .raw_length = 300, .records = 20, .crc = 1, .compressed = true};
  shuffle::SegmentHeader missing;
  missing.attempt = MapAttemptId(JobId{}, 7, 2);
  missing.status = StatusCode::kNotFound;
  return {shuffle::EncodeFetch({5, {MapAttemptId(JobId{1}, 2, 3), MapAttemptId(JobId{1}, 300, 0)}}),
          shuffle::EncodeSegmentHeader(header), shuffle::EncodeSegmentHeader(missing)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  fuzz::RoundTrip(bytes, shuffle::DecodeFetch, shuffle::EncodeFetch, "a fetch");
  if (size < shuffle::kSegmentHeaderBytes) return 0;
  const std::string_view header = bytes.substr(0, shuffle::kSegmentHeaderBytes);
  fuzz::RoundTrip(header, shuffle::DecodeSegmentHeader, shuffle::EncodeSegmentHeader, "a segment's header");
  fuzz::RoundTrip(fuzz::Summed(header), shuffle::DecodeSegmentHeader, shuffle::EncodeSegmentHeader,
                  "a segment's header");
  return 0;
}
