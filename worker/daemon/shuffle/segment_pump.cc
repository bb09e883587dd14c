// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/segment_pump.h"

#include <errno.h>
#include <sys/stat.h>

#include <string_view>
#include <utility>

namespace millrace::shuffle {

Result<ServedRun> ServedRun::Look(const sandbox::TaskDirectories& directories, const std::string& path,
                                  std::uint32_t partitions) {
  constexpr std::uint64_t kBlock = 512;  // of st_blocks
  MILLRACE_ASSIGN(const Fd file, directories.Read(path));
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return FromErrno(errno, "cannot look at " + path);
  ServedRun run{.path = path,
                .device = info.st_dev,
                .inode = info.st_ino,
                .size = static_cast<std::uint64_t>(info.st_size),
                .bytes_on_disk = static_cast<std::uint64_t>(info.st_blocks) * kBlock,
                .segments = {}};
  MILLRACE_ASSIGN(run.segments, run::ReadRunIndex(file.get(), path, partitions));
  return run;
}

Result<Fd> ServedRun::Open(const sandbox::TaskDirectories& directories) const {
  MILLRACE_ASSIGN(Fd file, directories.Read(path));
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return FromErrno(errno, "cannot look at " + path);
  const bool same = info.st_dev == device && info.st_ino == inode && static_cast<std::uint64_t>(info.st_size) == size;
  if (!same) return NotFound(path + " is no longer the file that its map wrote");
  return file;
}

SegmentPump::SegmentPump(std::vector<Answer> items, sandbox::TaskDirectories directories)
    : items_(std::move(items)), directories_(std::move(directories)) {
  MILLRACE_CHECK(!items_.empty(), "a fetch names at least one attempt");
}

void SegmentPump::Load() {
  loaded_ = true;
  SegmentHeader& header = items_[item_].header;
  if (items_[item_].run != nullptr) {
    Result<Fd> file = items_[item_].run->Open(directories_);
    if (file.ok()) file_ = std::move(*file);
    if (!file.ok()) header = {.attempt = header.attempt, .status = file.status().code(), .segment = {}};
  }
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
    MILLRACE_ASSIGN(const std::size_t n, outlet.SendFile(file_.get(), at_, end_ - at_, run.path));
    if (n == 0) return false;
    at_ += n;
    sent_ += n;
  }
  return true;
}

Result<bool> SegmentPump::Step(net::Outlet& outlet) {
  while (true) {
    if (!loaded_) Load();
    MILLRACE_ASSIGN(const bool header_sent, SendHeader(outlet));
    if (!header_sent) return false;
    MILLRACE_ASSIGN(const bool bytes_sent, SendBytes(outlet));
    if (!bytes_sent) return false;
    items_[item_].run.reset();
    file_ = Fd();
    if (item_ + 1 == items_.size()) return true;
    ++item_;
    loaded_ = false;
  }
}

}  // namespace millrace::shuffle
