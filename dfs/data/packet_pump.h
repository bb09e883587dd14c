// PacketPump sends a range of a block's chunks as packets, with the data from its file.
// Thread rule: one thread at a time; Step runs on a disk thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/net/outlet.h"
#include "base/status.h"
#include "dfs/data/block_store.h"

namespace millrace::dfs {

class PacketPump {
 public:
  // Sends all chunks that [offset, offset + size) touches. Requires: the range lies in the block and is not empty.
  PacketPump(OpenBlock block, std::uint64_t id, std::uint64_t offset, std::uint64_t size);

  // Sends as much as the outlet takes. Returns true once it has taken everything, and false if it takes no more for
  // now.
  Result<bool> Step(net::Outlet& outlet);

 private:
  void NextPacket();
  Result<bool> SendHeader(net::Outlet& outlet);
  Result<bool> SendData(net::Outlet& outlet);

  const OpenBlock block_;
  const std::uint64_t id_;
  std::uint64_t next_;       // first byte of the next packet
  const std::uint64_t end_;  // the end of the last chunk
  std::string header_;
  std::size_t header_sent_ = 0;
  std::uint64_t data_at_ = 0, data_end_ = 0;
};

}  // namespace millrace::dfs
