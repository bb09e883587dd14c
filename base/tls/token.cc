#include "base/tls/token.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/bytes.h"
#include "base/check.h"

namespace millrace::tls {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMacBytes = 32;

}  // namespace

std::string SubjectOf(const PeerIdentity& peer) {
  return peer.user().empty() ? ToText(peer) : std::string(peer.user());
}

std::string TokenKey::MakeRandom() {
  std::string key(kBytes, '\0');
  MILLRACE_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(key.data()), static_cast<int>(key.size())) == 1,
                 "the system gives no random bytes");
  return key;
}

std::string TokenKey::Sign(std::string_view said, std::uint64_t block) const {
  Encoder signed_bytes;
  signed_bytes.Text("millrace read");
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

std::string TokenKey::MakeToken(std::uint64_t block, std::string_view subject, Micros until) const {
  Encoder said;
  said.U8(kVersion);
  said.U64(static_cast<std::uint64_t>(until / kSecond));
  said.Text(subject);
  return said.bytes() + Sign(said.bytes(), block);
}

Status TokenKey::Check(std::string_view token, std::uint64_t block, std::string_view subject, Micros now) const {
  if (token.empty()) return Invalid("it takes a token of the master, and none was shown");
  const std::size_t size = token.size() < kMacBytes ? 0 : token.size() - kMacBytes;
  const std::string_view said = token.substr(0, size);
  const std::string mac = Sign(said, block);
  const std::string_view shown = token.substr(size);
  if (shown.size() != kMacBytes || CRYPTO_memcmp(mac.data(), shown.data(), kMacBytes) != 0)
    return Invalid("the token is not one that the master has made for this block");
  Decoder in(said);
  const std::uint8_t version = in.U8();
  const std::uint64_t until = in.U64();
  const std::string_view holder = in.Text();
  MILLRACE_TRY(in.Finish("a token"));
  if (version != kVersion) return Invalid("the token is of another version");
  if (!subject.empty() && holder != subject) return Invalid("the token is for " + std::string(holder));
  if (static_cast<std::uint64_t>(now / kSecond) >= until)
    return Invalid("the token has ended; look the block up again");
  return Status::Ok();
}

}  // namespace millrace::tls
