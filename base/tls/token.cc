// SPDX-License-Identifier: Apache-2.0
#include "base/tls/token.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/tls/certificates.h"

namespace millrace::tls {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMacBytes = 32;

}  // namespace

// A token is used soon after it was made, and is valid for much longer. If it has expired, its holder has kept it for
// long, or the clocks of the two machines differ.
Status CheckNotEnded(const TokenSays& token, Micros now) {
  if (static_cast<std::uint64_t>(now / kSecond) < token.until) return Status::Ok();
  return Invalid("the token has expired: it was valid until " + TimeText(static_cast<Micros>(token.until) * kSecond) +
                 ", and here it is " + TimeText(now) +
                 "; look the block up again, and if that does not help: do the clocks of the master and the worker "
                 "agree?");
}

std::string SubjectOf(const PeerIdentity& peer) {
  return peer.user().empty() ? ToText(peer) : std::string(peer.user());
}

std::string TokenKey::MakeRandom() {
  std::string key(kBytes, '\0');
  MILLRACE_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), static_cast<int>(key.size())) == 1,
                 "the system gives no random bytes");
  return key;
}

std::string TokenKey::Sign(std::string_view said, std::uint64_t block, TokenUse use) const {
  Encoder signed_bytes;
  signed_bytes.Text(use == TokenUse::kRead ? "millrace read" : "millrace write");
  signed_bytes.U64(block);
  signed_bytes.Text(said);
  const std::string& text = signed_bytes.bytes();
  std::string mac(kMacBytes, '\0');
  unsigned size = kMacBytes;
  MILLRACE_CHECK(HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                      reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                      reinterpret_cast<unsigned char*>(mac.data()), &size) != nullptr,
                 "HMAC");
  return mac;
}

std::string TokenKey::MakeToken(std::uint64_t block, std::string_view subject, Micros until, TokenUse use,
                                std::string_view terms) const {
  Encoder said;
  said.U8(kVersion);
  said.U64(static_cast<std::uint64_t>(until / kSecond));
  said.Text(subject);
  const std::string text = said.Take() + std::string(terms);
  return text + Sign(text, block, use);
}

Result<TokenSays> TokenKey::Open(std::string_view token, std::uint64_t block, TokenUse use) const {
  if (token.empty()) return Invalid("it needs a token of the master, and none was shown");
  const std::size_t size = token.size() < kMacBytes ? 0 : token.size() - kMacBytes;
  const std::string_view said = token.substr(0, size);
  const std::string mac = Sign(said, block, use);
  const std::string_view shown = token.substr(size);
  if (shown.size() != kMacBytes || CRYPTO_memcmp(mac.data(), shown.data(), kMacBytes) != 0) {
    return Invalid(std::string("the token is not one that the master has made for ") +
                   (use == TokenUse::kRead ? "this block" : "writing this block"));
  }
  Decoder in(said);
  const std::uint8_t version = in.U8();
  TokenSays says;
  says.until = in.U64();
  says.subject = std::string(in.Text());
  says.terms = std::string(said.substr(said.size() - in.left()));
  if (in.failed() || version != kVersion) return Invalid("the token is of another version");
  return says;
}

Status TokenKey::Check(std::string_view token, std::uint64_t block, std::string_view subject, Micros now) const {
  MILLRACE_ASSIGN(const TokenSays says, Open(token, block, TokenUse::kRead));
  if (!says.terms.empty()) return Invalid("the token is of another version");
  if (!subject.empty() && says.subject != subject) return Invalid("the token is for " + says.subject);
  return CheckNotEnded(says, now);
}

}  // namespace millrace::tls
