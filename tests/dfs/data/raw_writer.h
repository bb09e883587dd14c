// SPDX-License-Identifier: Apache-2.0
// RawWriter sends single packets, for tests of how a node handles them. If the first node has a local socket, RawWriter
// uses the socket and writes the data into the node's file; otherwise it uses TCP.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/net/blocking_stream.h"
#include "dfs/wire/transfer.h"
#include "tests/dfs/data/nodes.h"

namespace millrace::dfs {

inline Packet PacketOf(std::uint64_t offset, std::string_view data, bool last = false) {
  Packet packet;
  packet.offset = offset;
  packet.length = static_cast<std::uint32_t>(data.size());
  packet.last = last;
  const auto crcs = ChunkCrcs(data);
  std::copy(crcs.begin(), crcs.end(), packet.crcs.begin());
  return packet;
}

struct RawWriter {
  RawWriter(std::uint64_t block, const std::vector<ReplicaHost>& pipeline) : stream(Connect(pipeline[0])) {
    const WriteRequest request{block, pipeline[0].node, {pipeline.begin() + 1, pipeline.end()}};
    const bool local = !pipeline[0].local_socket.empty();
    const auto operation = local ? net::Operation::kWriteLocalBlock : net::Operation::kWriteBlock;
    const auto opened = stream->Call(operation, Encode(request));
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    if (local) file = std::move(*stream->ReceiveDescriptor());
    const Ack first = NextAck();
    EXPECT_TRUE(first.failure.ok()) << first.failure.message();
  }

  static Result<net::BlockingStream> Connect(const ReplicaHost& place) {
    return place.local_socket.empty() ? net::BlockingStream::ConnectTcp(place.host, place.port, kStall)
                                      : net::BlockingStream::ConnectLocal(place.local_socket, kStall);
  }

  void Put(const Packet& packet, std::string_view data) {
    if (file.valid()) {
      EXPECT_TRUE(WriteAllAt(file.get(), data, packet.offset, "the node's file").ok());
      data = {};
    }
    EXPECT_TRUE(stream->Send(EncodePacket(packet), data).ok());
  }

  Ack NextAck() {
    std::string payload;
    const auto frame = stream->ReceiveReply(&payload);
    EXPECT_TRUE(frame.ok()) << frame.status().message();
    if (!frame.ok()) return {};
    return std::move(*DecodeAck(static_cast<StatusCode>(frame->kind), payload));
  }

  Result<net::BlockingStream> stream;
  Fd file;  // for a local write
};

}  // namespace millrace::dfs
