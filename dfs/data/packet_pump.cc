#include "dfs/data/packet_pump.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
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

Result<bool> PacketPump::SendHeader(int socket) {
  while (header_sent_ < header_.size()) {
    const ssize_t n =
        ::send(socket, header_.data() + header_sent_, header_.size() - header_sent_, MSG_MORE | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) return FromErrno(errno, "send " + BlockName(id_));
    header_sent_ += static_cast<std::size_t>(n);
  }
  return true;
}

Result<bool> PacketPump::SendData(int socket) {
  while (data_at_ < data_end_) {
    auto offset = static_cast<off_t>(data_at_);
    const ssize_t n = ::sendfile(socket, block_.data.get(), &offset, data_end_ - data_at_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) return FromErrno(errno, "send " + BlockName(id_));
    if (n == 0) return Corrupt("send " + BlockName(id_) + ": its file ends at byte " + std::to_string(data_at_));
    data_at_ += static_cast<std::uint64_t>(n);
  }
  return true;
}

Result<bool> PacketPump::Step(int socket) {
  while (true) {
    MILLRACE_ASSIGN(const bool header_sent, SendHeader(socket));
    if (!header_sent) return false;
    MILLRACE_ASSIGN(const bool data_sent, SendData(socket));
    if (!data_sent) return false;
    if (next_ == end_) return true;
    NextPacket();
  }
}

}  // namespace millrace::dfs
