#include "dfs/data/packet_pump.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "dfs/data/block_checksums.h"
#include "dfs/wire/transfer.h"

namespace millrace::dfs {

PacketPump::PacketPump(OpenBlock block, std::uint64_t id, std::uint64_t offset, std::uint64_t size)
    : block_(std::move(block)),
      id_(id),
      next_(offset / kChunkBytes * kChunkBytes),
      end_(std::min(block_.length, ChunkCount(offset + size) * kChunkBytes)) {
  // This is only advice to the kernel. A failure costs nothing but speed.
  ::posix_fadvise(block_.data.get(), static_cast<off_t>(next_), static_cast<off_t>(end_ - next_),
                  POSIX_FADV_SEQUENTIAL);
  NextPacket();
}

void PacketPump::NextPacket() {
  Packet packet;
  packet.offset = next_;
  packet.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(kPacketBytes, end_ - next_));
  packet.last = next_ + packet.length == end_;
  const auto first = block_.chunk_crcs.begin() + static_cast<std::ptrdiff_t>(next_ / kChunkBytes);
  std::copy_n(first, packet.chunks(), packet.crcs.begin());
  header_ = EncodePacket(packet);
  header_sent_ = 0;
  data_at_ = next_;
  data_end_ = next_ += packet.length;
}

Result<bool> PacketPump::SendHeader(net::Outlet& outlet) {
  while (header_sent_ < header_.size()) {
    MILLRACE_ASSIGN(const std::size_t n, outlet.Send(std::string_view(header_).substr(header_sent_), true));
    if (n == 0) return false;
    header_sent_ += n;
  }
  return true;
}

Result<bool> PacketPump::SendData(net::Outlet& outlet) {
  while (data_at_ < data_end_) {
    MILLRACE_ASSIGN(const std::size_t n,
                    outlet.SendFile(block_.data.get(), data_at_, data_end_ - data_at_, BlockName(id_)));
    if (n == 0) return false;
    data_at_ += n;
  }
  return true;
}

Result<bool> PacketPump::Step(net::Outlet& outlet) {
  while (true) {
    MILLRACE_ASSIGN(const bool header_sent, SendHeader(outlet));
    if (!header_sent) return false;
    MILLRACE_ASSIGN(const bool data_sent, SendData(outlet));
    if (!data_sent) return false;
    if (next_ == end_) return true;
    NextPacket();
  }
}

}  // namespace millrace::dfs
