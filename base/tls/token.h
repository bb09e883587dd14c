// Tokens: what a master lets somebody read from workers, or write to them, for a while. The master and its workers
// share a key; a token is the time of its end, for whom it is, on which terms, and an HMAC-SHA256 (RFC 2104) over
// these, the use and the block, so that it is good for one use of one block by one user and cannot be made or changed
// by those who carry it.
//
//   u8 version (1), u64 end in seconds since the epoch, text subject, terms, 32 bytes HMAC   (an Encoder's bytes)
//
// A token for reading has no terms; those of one for writing are in dfs/wire/write_order.h.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/peer_identity.h"

namespace millrace::tls {

// Returns whom a token for this peer is for: the user, for clients and tasks alike; the worker.
[[nodiscard]] std::string SubjectOf(const PeerIdentity& peer);

enum class TokenUse : std::uint8_t { kRead, kWrite };

// What a token says that the master has made.
struct TokenSays {
  std::uint64_t until = 0;  // seconds since the epoch
  std::string subject;
  std::string terms;
};

// Returns kInvalid, with what may be wrong, if the token has ended at `now`.
[[nodiscard]] Status CheckNotEnded(const TokenSays& token, Micros now);

class TokenKey {
 public:
  static constexpr std::size_t kBytes = 32;
  [[nodiscard]] static std::string MakeRandom();

  explicit TokenKey(std::string key) : key_(std::move(key)) {}  // Requires: it has kBytes

  [[nodiscard]] const std::string& bytes() const { return key_; }
  // Makes a token for reading, or, with a use and terms, for that use.
  [[nodiscard]] std::string MakeToken(std::uint64_t block, std::string_view subject, Micros until,
                                      TokenUse use = TokenUse::kRead, std::string_view terms = {}) const;
  // Returns what the token says. kInvalid if it is not one that was made by this key for this use and block. The caller
  // checks when it ends and for whom it is.
  [[nodiscard]] Result<TokenSays> Open(std::string_view token, std::uint64_t block, TokenUse use) const;
  // Returns OK if the token lets this block be read, has not ended and, unless `subject` is empty, is for it.
  // Returns kInvalid with the reason otherwise.
  [[nodiscard]] Status Check(std::string_view token, std::uint64_t block, std::string_view subject, Micros now) const;

 private:
  [[nodiscard]] std::string Sign(std::string_view said, std::uint64_t block, TokenUse use) const;

  std::string key_;
};

// What a reader is given tokens by. Without a key, as without TLS, there are none.
struct Grant {
  const TokenKey* key = nullptr;
  std::string subject = {};
  Micros until = 0;

  [[nodiscard]] std::string TokenFor(std::uint64_t block) const {
    return key == nullptr ? std::string() : key->MakeToken(block, subject, until);
  }
};

}  // namespace millrace::tls
