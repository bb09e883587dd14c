// SPDX-License-Identifier: Apache-2.0
// Headers of packets, also with a checksum that is right.
#include "dfs/wire/transfer.h"
#include "tests/fuzz/fuzz.h"

using namespace millrace;

std::vector<std::string> millrace::fuzz::Seeds() {
  dfs::Packet packet{.offset = 1 << 20, .length = dfs::kChunkBytes, .last = false, .crcs = {1}};
  const std::string middle = dfs::EncodePacket(packet);
  packet.length = 17;
  packet.last = true;
  return {middle, dfs::EncodePacket(packet)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view given = fuzz::View(data, size);
  for (const std::string& bytes : {std::string(given), fuzz::Summed(given)}) {
    const auto packet = dfs::DecodePacket(bytes);
    if (!packet.ok()) continue;
    fuzz::Require(packet->chunks() <= dfs::kChunksPerPacket, "a packet has more chunks than checksums");
    fuzz::Require(dfs::EncodePacket(*packet) == bytes, "a packet is not what it encodes to");
  }
  return 0;
}
