// SPDX-License-Identifier: Apache-2.0
#include "base/net/outlet.h"

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace millrace::net {
namespace {

constexpr std::uint64_t kMaxSend = std::uint64_t{1} << 30;  // sendfile sends at most 2 GiB at once
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

Status FileEnds(std::string_view what, std::uint64_t at) {
  return Corrupt("send " + std::string(what) + ": its file ends at byte " + std::to_string(at));
}

// Bytes that the disk cannot read are as bad as bytes that it reads wrongly; a socket never fails with EIO.
Status ReadFailure(int error, const std::string& what) {
  const Status why = FromErrno(error, what);
  return error == EIO ? Corrupt(why.message()) : why;
}

}  // namespace

Result<std::size_t> SocketOutlet::Send(std::string_view bytes, bool more) {
  while (true) {
    const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno == EAGAIN) return std::size_t{0};
    if (errno != EINTR) return FromErrno(errno, "send");
  }
}

Result<std::size_t> SocketOutlet::SendFile(int file, std::uint64_t offset, std::uint64_t size, std::string_view what) {
  while (true) {
    auto at = static_cast<off_t>(offset);
    const ssize_t n = ::sendfile(socket_, file, &at, std::min(size, kMaxSend));
    if (n > 0) return static_cast<std::size_t>(n);
    if (n == 0) return FileEnds(what, offset);
    if (errno == EAGAIN) return std::size_t{0};
    if (errno != EINTR) return ReadFailure(errno, "send " + std::string(what));
  }
}

Result<bool> TlsOutlet::Flush() {
  while (sent_ < unsent_.size()) {
    MILLRACE_ASSIGN(const std::size_t n, socket_.Send(std::string_view(unsent_).substr(sent_), false));
    if (n == 0) return false;
    sent_ += n;
  }
  unsent_.clear();
  sent_ = 0;
  return true;
}

Result<bool> TlsOutlet::MakeRoom() {
  if (unsent_.size() < kPieceBytes) return true;
  return Flush();
}

Status TlsOutlet::Take(std::string_view bytes) {
  MILLRACE_TRY(session_.Write(bytes));
  unsent_ += session_.TakeOutput();
  return Status::Ok();
}

Result<std::size_t> TlsOutlet::Send(std::string_view bytes, bool more) {
  MILLRACE_ASSIGN(const bool room, MakeRoom());
  if (!room) return std::size_t{0};
  const std::size_t size = std::min(bytes.size(), kPieceBytes);
  MILLRACE_TRY(Take(bytes.substr(0, size)));
  if (!more) MILLRACE_TRY(Flush().status());
  return size;
}

Result<std::size_t> TlsOutlet::SendFile(int file, std::uint64_t offset, std::uint64_t size, std::string_view what) {
  MILLRACE_ASSIGN(const bool room, MakeRoom());
  if (!room) return std::size_t{0};
  if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  ssize_t n = -1;
  while (n < 0) {
    n = ::pread(file, buffer_.get(), std::min<std::uint64_t>(size, kPieceBytes), static_cast<off_t>(offset));
    if (n < 0 && errno != EINTR) return ReadFailure(errno, "read " + std::string(what));
  }
  if (n == 0) return FileEnds(what, offset);
  MILLRACE_TRY(Take({buffer_.get(), static_cast<std::size_t>(n)}));
  MILLRACE_TRY(Flush().status());
  return static_cast<std::size_t>(n);
}

}  // namespace millrace::net
