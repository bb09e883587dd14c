#include "worker/daemon/shuffle/segment_pump.h"

#include <string_view>
#include <utility>

namespace millrace::shuffle {

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

Result<bool> SegmentPump::SendHeader(net::Outlet& outlet) {
  const bool more = end_ > at_ || item_ + 1 < items_.size();
  while (header_sent_ < header_.size()) {
    MILLRACE_ASSIGN(const std::size_t n, outlet.Send(std::string_view(header_).substr(header_sent_), more));
    if (n == 0) return false;
    header_sent_ += n;
  }
  return true;
}

Result<bool> SegmentPump::SendBytes(net::Outlet& outlet) {
  while (at_ < end_) {
    const ServedRun& run = *items_[item_].run;
    MILLRACE_ASSIGN(const std::size_t n, outlet.SendFile(run.file.get(), at_, end_ - at_, run.path));
    if (n == 0) return false;
    at_ += n;
  }
  return true;
}

Result<bool> SegmentPump::Step(net::Outlet& outlet) {
  while (true) {
    MILLRACE_ASSIGN(const bool header_sent, SendHeader(outlet));
    if (!header_sent) return false;
    MILLRACE_ASSIGN(const bool bytes_sent, SendBytes(outlet));
    if (!bytes_sent) return false;
    items_[item_].run.reset();
    if (item_ + 1 == items_.size()) return true;
    ++item_;
    Load();
  }
}

}  // namespace millrace::shuffle
