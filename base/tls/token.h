// SPDX-License-Identifier: Apache-2.0
// A token is a master's permission for a user or worker to read or write a block on workers for a while. The master and
// its workers share a key. A token holds its end, its subject, its terms, and an HMAC-SHA256 (RFC 2104). The HMAC
// covers these fields and also the use and the block, which the token does not hold. So a token is valid for one use of
// one block by one subject, and nobody without the key can make or change it.
//
//   u8 version (1), u64 end in seconds since the epoch, text subject, terms, 32 bytes HMAC   (an Encoder's bytes)
//
// A token for reading has no terms; dfs/wire/write_order.h defines the terms for writing.
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/peer_identity.h"

namespace millrace::tls {

// Returns the subject of tokens for this peer: the user of a client or task, or the worker.
[[nodiscard]] std::string SubjectOf(const PeerIdentity& peer);

enum class TokenUse : std::uint8_t { kRead, kWrite };

// The content of a token that the master has made.
struct TokenSays {
  std::uint64_t until = 0;  // seconds since the epoch
  std::string subject;
  std::string terms;
};

// Returns kInvalid, with the likely cause, if the token has ended by `now`.
[[nodiscard]] Status CheckNotEnded(const TokenSays& token, Micros now);

class TokenKey {
 public:
  static constexpr std::size_t kBytes = 32;
  [[nodiscard]] static std::string MakeRandom();

  explicit TokenKey(std::string key) : key_(std::move(key)) {}  // Requires: `key` has kBytes bytes

  [[nodiscard]] const std::string& bytes() const { return key_; }
  // Makes a token for `use` with these terms; the default is a token for reading.
  [[nodiscard]] std::string MakeToken(std::uint64_t block, std::string_view subject, Micros until,
                                      TokenUse use = TokenUse::kRead, std::string_view terms = {}) const;
  // Returns the content of the token, or kInvalid if it was not made by this key for this use and block. The caller
  // checks the end and the subject.
  [[nodiscard]] Result<TokenSays> Open(std::string_view token, std::uint64_t block, TokenUse use) const;
  // Returns OK if the token is for reading this block, has not ended and, unless `subject` is empty, is for that
  // subject. Returns kInvalid with the reason otherwise.
  [[nodiscard]] Status Check(std::string_view token, std::uint64_t block, std::string_view subject, Micros now) const;

 private:
  [[nodiscard]] std::string Sign(std::string_view said, std::uint64_t block, TokenUse use) const;

  std::string key_;
};

// Issues read tokens to one reader. Without a key (the case without TLS), the tokens are empty.
struct Grant {
  const TokenKey* key = nullptr;
  std::string subject = {};
  Micros until = 0;

  [[nodiscard]] std::string TokenFor(std::uint64_t block) const {
    return key == nullptr ? std::string() : key->MakeToken(block, subject, until);
  }
};

}  // namespace millrace::tls
