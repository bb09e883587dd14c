// BlockingStream: a client's connection to a bulk server for blocking callers: no threads, and no call that waits
// longer than the peer may be silent. What job executables use; daemons use Wire (bulk_handler.h). Thread rule: one
// thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"
#include "base/net/frame.h"
#include "base/status.h"

namespace millrace::net {

class BlockingStream {
 public:
  // `stall`: how long the peer may make no progress, also while connecting; then kTimeout. kUnavailable: no connection.
  static Result<BlockingStream> ConnectTcp(const std::string& host, std::uint16_t port, Micros stall);
  // An abstract unix socket of this machine; kUnavailable if nobody listens there.
  static Result<BlockingStream> ConnectLocal(std::string_view abstract_name, Micros stall);

  void SetStall(Micros stall) { stall_ = stall; }

  // All of `first`, then all of `second`. kUnavailable when the peer closed.
  Status Send(std::string_view first, std::string_view second = {});
  // Exactly `size` bytes. kUnavailable when the peer closed before.
  Status Receive(char* out, std::size_t size);
  // Whether something can be received (or the peer closed) without waiting.
  [[nodiscard]] bool Readable() const;

  // A whole reply, checked: its frame, and the payload in *payload.
  Result<Frame> ReceiveReply(std::string* payload);
  // Sends a request and gives the payload of its reply; a failure that the peer reports comes as its Status.
  Result<std::string> Call(Operation operation, std::string_view header);
  // One descriptor with one byte (SCM_RIGHTS), on a local connection.
  Result<Fd> ReceiveDescriptor();

  [[nodiscard]] const std::string& peer() const { return peer_; }  // "host:port", for messages

 private:
  BlockingStream(Fd fd, std::string peer, Micros stall) : fd_(std::move(fd)), peer_(std::move(peer)), stall_(stall) {}
  Status Wait(short events) const;

  Fd fd_;
  std::string peer_;
  Micros stall_;
};

}  // namespace millrace::net
