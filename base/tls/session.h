// Session: TLS over one connection, without the connection: bytes of the peer are fed to it, and its output is to be
// sent. So the control plane, the bulk plane and blocking callers share it. It ends the handshake with one byte of the
// server, which says that the client's certificate was accepted: in TLS 1.3 a client is otherwise done before that, and
// would learn of a refusal from its first answer.
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
  // `peer` is the address, for messages. If a role is wanted, a peer of another one is refused.
  Session(std::shared_ptr<const Context> context, Side side, std::string peer, std::optional<Role> wanted = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Goes on with the handshake as far as what was fed allows. Returns true once it is done. Returns kInvalid if one of
  // the two refuses the other, with the reason, also if the peer does not speak TLS; kUnavailable if TLS fails.
  [[nodiscard]] Result<bool> Handshake();
  // Requires: the handshake is done, for this and what follows.
  [[nodiscard]] const PeerIdentity& peer() const;
  // Reads what has come, `size` bytes at most. Returns 0 if more has to be fed first, or the peer has ended its side.
  [[nodiscard]] Result<std::size_t> Read(char* out, std::size_t size);
  [[nodiscard]] bool ended() const;                   // the peer has said that it sends nothing more
  [[nodiscard]] Status Write(std::string_view data);  // adds to the output; it is twice in memory until that is sent
  void Close();                                       // tells the peer, by the output, that nothing more is sent

  void Feed(std::string_view bytes);    // takes what the peer has sent
  [[nodiscard]] bool HasInput() const;  // what was fed, or a part of it, was not read yet
  [[nodiscard]] std::string TakeOutput();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns true if these first bytes of a peer are a TLS alert, by which it answers one who has spoken without TLS.
[[nodiscard]] bool SaysTlsIsWanted(std::string_view bytes);

}  // namespace millrace::tls
