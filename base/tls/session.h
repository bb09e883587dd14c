// SPDX-License-Identifier: Apache-2.0
// Session: TLS for one connection, without the connection itself. The caller feeds it the bytes of the peer and sends
// its output, so the control plane, the bulk plane and blocking callers can share it. The handshake ends with one byte
// from the server, which confirms the client's certificate. Without it, a client in TLS 1.3 would be done earlier, and
// would learn of a refusal only from its first answer.
//
//   while (true) {
//     Result<bool> done = session.Handshake();
//     send(session.TakeOutput());  // also after a failure: it tells the peer why
//     if (!done.ok() || *done) break;
//     session.Feed(receive());
//   }
//
// Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/tls/credentials.h"
#include "base/tls/peer_identity.h"

namespace millrace::tls {

enum class Side { kServer, kClient };

class Session {
 public:
  // `peer` is the peer's address, for messages. If `wanted` is a role, a peer of another role is refused.
  Session(std::shared_ptr<const Context> context, Side side, std::string peer, std::optional<Role> wanted = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Continues the handshake as far as the bytes fed allow. Returns true once it is done. Returns kInvalid, with the
  // reason, if one side refuses the other or the peer does not speak TLS; kUnavailable if TLS fails.
  [[nodiscard]] Result<bool> Handshake();
  // Requires, for this call and those up to Close: the handshake is done.
  [[nodiscard]] const PeerIdentity& peer() const;
  // Reads at most `size` bytes. Returns their number; 0 if more must be fed first, or the peer has ended its side.
  [[nodiscard]] Result<std::size_t> Read(char* out, std::size_t size);
  [[nodiscard]] bool ended() const;                   // the peer has announced that it sends nothing more
  [[nodiscard]] Status Write(std::string_view data);  // adds to the output; `data` is in memory twice until it is sent
  void Close();                                       // adds to the output a notice that nothing more is sent

  void Feed(std::string_view bytes);    // takes bytes that the peer has sent
  [[nodiscard]] bool HasInput() const;  // bytes that were fed are still unread
  [[nodiscard]] std::string TakeOutput();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns true if these first bytes of a peer are a TLS alert, its answer to a client that speaks without TLS.
[[nodiscard]] bool SaysTlsIsWanted(std::string_view bytes);

}  // namespace millrace::tls
