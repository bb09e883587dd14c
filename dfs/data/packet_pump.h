// PacketPump: sends a range of a block's chunks as packets, the data with sendfile: from the page cache to the socket.
// Thread rule: one thread at a time; Step runs on a disk thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "dfs/data/block_store.h"

namespace millrace::dfs {

class PacketPump {
 public:
  // Sends all chunks that [offset, offset + size) touches. Requires: the range lies in the block and is not empty.
  PacketPump(OpenBlock block, std::uint64_t id, std::uint64_t offset, std::uint64_t size);

  // Sends until all is sent (returns true) or the non-blocking socket takes no more (returns false).
  Result<bool> Step(int socket);

 private:
  void NextPacket();
  Result<bool> SendHeader(int socket);
  Result<bool> SendData(int socket);

  const OpenBlock block_;
  const std::uint64_t id_;
  std::uint64_t next_;       // first byte of the next packet
  const std::uint64_t end_;  // the end of the last chunk
  std::string header_;
  std::size_t header_sent_ = 0;
  std::uint64_t data_at_ = 0, data_end_ = 0;
};

}  // namespace millrace::dfs
