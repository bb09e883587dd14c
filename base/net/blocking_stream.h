// SPDX-License-Identifier: Apache-2.0
// BlockingStream: a client's connection to a bulk server, for blocking callers. It has no threads, and no call waits
// longer than the peer may be silent. Job executables use it; daemons use Wire (bulk_handler.h). Thread rule: one
// thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"
#include "base/net/frame.h"
#include "base/status.h"
#include "base/tls/credentials.h"
#include "base/tls/session.h"

namespace millrace::net {

class BlockingStream {
 public:
  // Connects, within kConnectLimit (frame.h). `stall` is how long the peer may make no progress, even while connecting,
  // before a call returns kTimeout.
  // Returns kUnavailable if there is no connection. With credentials it speaks TLS, and only with workers. Returns
  // kInvalid if one side refuses the other.
  static Result<BlockingStream> ConnectTcp(const std::string& host, std::uint16_t port, Micros stall,
                                           const std::shared_ptr<tls::Credentials>& credentials = nullptr);
  // Connects to an abstract unix socket of this machine. Returns kUnavailable if nobody listens there.
  static Result<BlockingStream> ConnectLocal(std::string_view abstract_name, Micros stall);

  void SetStall(Micros stall) { stall_ = stall; }

  // Sends all of `first`, then all of `second`. Returns kUnavailable if the peer closed.
  Status Send(std::string_view first, std::string_view second = {});
  // Receives exactly `size` bytes. Returns kUnavailable if the peer closes before all have come.
  Status Receive(char* out, std::size_t size);
  // Returns true if Receive would not wait: bytes have come, or the peer closed.
  [[nodiscard]] bool Readable() const;

  // Receives a whole reply and checks it. Returns its frame, and the payload in *payload.
  Result<Frame> ReceiveReply(std::string* payload);
  // Sends a request. Returns the payload of its reply, or the failure that the peer reports.
  Result<std::string> Call(Operation operation, std::string_view header);
  // Receives one descriptor with one byte (SCM_RIGHTS). Requires: the connection is local.
  Result<Fd> ReceiveDescriptor();

  [[nodiscard]] const std::string& peer() const { return peer_; }  // "host:port", for messages

 private:
  BlockingStream(Fd fd, std::string peer, Micros stall) : fd_(std::move(fd)), peer_(std::move(peer)), stall_(stall) {}
  Status Wait(short events) const;
  Status Secure(const std::shared_ptr<tls::Credentials>& credentials);
  Status SendBytes(std::string_view first, std::string_view second);
  // Receives at least one byte. Returns the number received.
  Result<std::size_t> ReceiveSome(char* out, std::size_t size);
  Status FeedMore();

  Fd fd_;
  std::string peer_;
  Micros stall_;
  std::optional<tls::Session> tls_;
};

}  // namespace millrace::net
