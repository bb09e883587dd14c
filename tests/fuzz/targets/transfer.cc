// SPDX-License-Identifier: Apache-2.0
// Requests and replies of block transfer; the first byte says which.
#include "dfs/wire/transfer.h"

#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  const dfs::WriteRequest write{
      .block = 7,
      .node = NodeId{3},
      .rest = {{NodeId{4}, "host", 7000, "", "", ""}, {NodeId{5}, "10.0.0.1", 65535, "", "", ""}}};
  dfs::Ack bad{.length = 0, .finished = false, .failure = Corrupt("bad"), .failed_nodes = {NodeId{1}, NodeId{2}}};
  dfs::WriteRequest shown = write;
  shown.expected = dfs::BlockContent{70'000, 9};
  shown.token = "token";
  return {std::string(1, 0) + dfs::Encode(write),
          std::string(1, 0) + dfs::Encode(shown),
          std::string(1, 3) + dfs::Encode(dfs::FinishRequest{1, 2, "token"}),
          std::string(1, 1) + dfs::Encode(dfs::ReadRequest{1, 2, 3}),
          std::string(1, 2) + dfs::EncodeCrc(99),
          std::string(1, 3) + dfs::Encode(dfs::FinishRequest{1, 2}),
          std::string(1, 4) + dfs::Encode(dfs::OpenRequest{8, "token"}),
          std::string(1, 5) + dfs::Encode(dfs::BlockChunks{70'000, {1, 2}}),
          std::string(1, 6) + dfs::EncodeAck({.length = 5, .finished = true, .failure = {}, .failed_nodes = {}}),
          std::string(1, 7) + dfs::EncodeAck(bad)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Draw draw(fuzz::View(data, size));
  const std::uint8_t which = draw.Byte() % 8;
  const std::string_view bytes = draw.rest();
  const auto encode = [](const auto& value) { return dfs::Encode(value); };
  switch (which) {
    case 0:
      fuzz::RoundTrip(bytes, dfs::DecodeWriteRequest, encode, "a request to write");
      break;
    case 1:
      fuzz::RoundTrip(bytes, dfs::DecodeReadRequest, encode, "a request to read");
      break;
    case 2:
      fuzz::RoundTrip(bytes, dfs::DecodeCrc, dfs::EncodeCrc, "a block's checksum");
      break;
    case 3:
      fuzz::RoundTrip(bytes, dfs::DecodeFinishRequest, encode, "a request to finish");
      break;
    case 4:
      fuzz::RoundTrip(
          bytes, dfs::DecodeOpenRequest, [](const dfs::OpenRequest& request) { return dfs::Encode(request); },
          "a block");
      break;
    case 5:
      fuzz::RoundTrip(bytes, dfs::DecodeBlockChunks, encode, "a block's checksums");
      break;
    default: {
      const StatusCode code = which == 6 ? StatusCode::kOk : StatusCode::kCorrupt;
      fuzz::RoundTrip(
          bytes, [code](std::string_view b) { return dfs::DecodeAck(code, b); }, dfs::EncodeAck, "an acknowledgement");
    }
  }
  return 0;
}
