#include "worker/daemon/shuffle/segment_pump.h"

#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace millrace::shuffle {
namespace {

constexpr std::uint64_t kMaxSend = std::uint64_t{1} << 30;  // sendfile sends at most 2 GiB at once

}  // namespace

SegmentPump::SegmentPump(std::vector<Answer> items) : items_(std::move(items)) {
  MILLRACE_CHECK(!items_.empty(), "a fetch names at least one attempt");
  Load();
}

void SegmentPump::Load() {
  const SegmentHeader& header = items_[item_].header;
  header_ = EncodeSegmentHeader(header);
  header_sent_ = 0;
  at_ = header.segment.offset;
  end_ = at_ + header.segment.length;
}

Result<bool> SegmentPump::SendHeader(int socket) {
  const bool more = end_ > at_ || item_ + 1 < items_.size();
  while (header_sent_ < header_.size()) {
    const ssize_t n = ::send(socket, header_.data() + header_sent_, header_.size() - header_sent_,
                             MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) return FromErrno(errno, "send a segment header");
    header_sent_ += static_cast<std::size_t>(n);
  }
  return true;
}

Result<bool> SegmentPump::SendBytes(int socket) {
  while (at_ < end_) {
    const ServedRun& run = *items_[item_].run;
    auto offset = static_cast<off_t>(at_);
    const ssize_t n = ::sendfile(socket, run.file.get(), &offset, std::min(end_ - at_, kMaxSend));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) return FromErrno(errno, "send " + run.path);
    if (n == 0) return Corrupt("send " + run.path + ": it ends at byte " + std::to_string(at_) + ", within a segment");
    at_ += static_cast<std::uint64_t>(n);
  }
  return true;
}

Result<bool> SegmentPump::Step(int socket) {
  while (true) {
    MILLRACE_ASSIGN(const bool header_sent, SendHeader(socket));
    if (!header_sent) return false;
    MILLRACE_ASSIGN(const bool bytes_sent, SendBytes(socket));
    if (!bytes_sent) return false;
    items_[item_].run.reset();
    if (item_ + 1 == items_.size()) return true;
    ++item_;
    Load();
  }
}

}  // namespace millrace::shuffle
