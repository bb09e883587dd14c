// SPDX-License-Identifier: Apache-2.0
#include "base/tls/session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/tls/context.h"

namespace millrace::tls {
namespace {

using OwnSsl = std::unique_ptr<SSL, Freed<SSL_free>>;

constexpr char kAccepted = 1;
// The alert protocol_version (RFC 8446, sections 5.1 and 6).
constexpr std::string_view kTlsIsWanted("\x15\x03\x03\x00\x02\x02\x46", 7);

// Returns a peer's alert (RFC 8446, section 6.2) in words for people.
const char* MeaningOfAlert(int reason) {
  switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "a certificate is required and none was shown";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
      return "our certificate was issued by another authority than its cluster's";
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "our certificate is for a role that it does not know";
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return "our certificate's role may not do this";
    default:
      return nullptr;
  }
}

bool SpeaksNoTls(int reason) {
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_UNEXPECTED_MESSAGE:
      return true;
    default:
      return false;
  }
}

int Length(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max())); }

}  // namespace

struct Session::Impl {
  Impl(std::shared_ptr<const Context> of, Side which, std::string address, std::optional<Role> role)
      : context(std::move(of)), side(which), peer(std::move(address)), wanted(role), ssl(SSL_new(context->get())) {
    MILLRACE_CHECK(ssl != nullptr, TakeOpensslError());
    input = BIO_new(BIO_s_mem());
    output = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(input, -1);  // no bytes are no end
    SSL_set_bio(ssl.get(), input, output);
    SSL_set_app_data(ssl.get(), &why_refused);
    if (side == Side::kServer) {
      SSL_set_accept_state(ssl.get());
    } else {
      SSL_set_connect_state(ssl.get());
    }
  }

  // Returns OK if OpenSSL only waits for bytes, and why it failed otherwise.
  Status Why(int result) {
    const int error = SSL_get_error(ssl.get(), result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_ZERO_RETURN)
      return Status::Ok();
    const unsigned long code = ERR_peek_last_error();
    const int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    const std::string text = TakeOpensslError();
    if (reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED || reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE)
      return Invalid(peer + " refuses us: " + OwnTimes());
    if (const char* meaning = MeaningOfAlert(reason)) return Invalid(peer + " refuses us: " + meaning);
    if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) return Invalid(peer + ": refused, it shows no certificate");
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) return Invalid(peer + ": refused: " + WhyNotBelieved());
    if (!SSL_is_init_finished(ssl.get()) && SpeaksNoTls(reason)) {
      // OpenSSL says nothing to such a peer, who could not know why it is refused.
      if (side == Side::kServer) (void)BIO_write(output, kTlsIsWanted.data(), Length(kTlsIsWanted.size()));
      return Invalid(peer + ": does not use TLS as we do (" + text + ")");
    }
    return Unavailable(peer + ": TLS failed: " + text);
  }

  // The peer's clock decided, which we do not see.
  [[nodiscard]] std::string OwnTimes() const {
    const Result<CertificateFacts> facts = ReadFacts(context->texts().own.certificate, "the certificate");
    if (!facts.ok()) return "our certificate is not valid there now";
    return "our certificate is not valid there now: it is " + TimesText(facts->from, facts->until) +
           "; renew it if it has ended (millrace ca renew), else: do the clocks agree?";
  }

  [[nodiscard]] std::string WhyNotBelieved() const {
    const long verified = SSL_get_verify_result(ssl.get());
    if (verified == X509_V_ERR_APPLICATION_VERIFICATION)
      return "its certificate is for a role that this cluster does not know, or its issuer may not issue it";
    return std::string("its certificate is not good: ") + X509_verify_cert_error_string(verified) +
           (why_refused.empty() ? "" : "; " + why_refused);
  }

  Status Identify() {
    const OwnCertificate shown(SSL_get1_peer_certificate(ssl.get()));
    if (shown == nullptr) return Invalid(peer + ": refused, it shows no certificate");
    MILLRACE_ASSIGN(identity, ParseIdentity(CommonNameOf(shown.get())));
    if (!wanted || identity.role == *wanted) return Status::Ok();
    return Invalid(peer + ": refused: its certificate is that of " + ToText(identity) + ", and not of a " +
                   std::string(NameOf(*wanted)));
  }

  Result<bool> Shake() {
    if (!identified) {
      const int result = SSL_do_handshake(ssl.get());
      if (result != 1) {
        MILLRACE_TRY(Why(result));
        return false;
      }
      MILLRACE_TRY(Identify());
      identified = true;
    }
    return Accept();
  }

  // The server's part of the end of a handshake is to send a byte, the client's to wait for it.
  Result<bool> Accept() {
    if (side == Side::kServer) {
      if (SSL_write(ssl.get(), &kAccepted, 1) != 1) return Unavailable(peer + ": TLS failed: " + TakeOpensslError());
      return true;
    }
    char byte = 0;
    const int n = SSL_read(ssl.get(), &byte, 1);
    if (n <= 0) {
      MILLRACE_TRY(Why(n));
      if (ended) return Unavailable(peer + ": closed the connection before it had accepted us");
      return false;
    }
    if (byte != kAccepted) return Unavailable(peer + ": it uses TLS, but is not part of Millrace");
    return true;
  }

  std::shared_ptr<const Context> context;
  Side side;
  std::string peer;
  std::optional<Role> wanted;
  std::string why_refused;  // Context::get
  OwnSsl ssl;
  BIO* input = nullptr;  // `ssl` owns both
  BIO* output = nullptr;
  PeerIdentity identity;
  bool identified = false, done = false;
  Status failure;  // of the handshake
  bool ended = false;
};

bool SaysTlsIsWanted(std::string_view bytes) {
  constexpr std::string_view kAlert = kTlsIsWanted.substr(0, 2);
  return bytes.starts_with(kAlert);
}

Session::Session(std::shared_ptr<const Context> context, Side side, std::string peer, std::optional<Role> wanted)
    : impl_(std::make_unique<Impl>(std::move(context), side, std::move(peer), wanted)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Result<bool> Session::Handshake() {
  if (impl_->done) return true;
  if (!impl_->failure.ok()) return impl_->failure;
  ERR_clear_error();
  Result<bool> done = impl_->Shake();
  if (done.ok()) {
    impl_->done = *done;
  } else {
    impl_->failure = done.status();
  }
  return done;
}

const PeerIdentity& Session::peer() const { return impl_->identity; }

Result<std::size_t> Session::Read(char* out, std::size_t size) {
  ERR_clear_error();
  std::size_t done = 0;
  while (done < size) {
    const int n = SSL_read(impl_->ssl.get(), out + done, Length(size - done));
    if (n <= 0) {
      impl_->ended = (SSL_get_shutdown(impl_->ssl.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
      if (done > 0) break;
      MILLRACE_TRY(impl_->Why(n));
      break;
    }
    done += static_cast<std::size_t>(n);
  }
  return done;
}

bool Session::ended() const { return impl_->ended; }

Status Session::Write(std::string_view data) {
  ERR_clear_error();
  while (!data.empty()) {
    const int n = SSL_write(impl_->ssl.get(), data.data(), Length(data.size()));
    if (n <= 0) return Unavailable(impl_->peer + ": TLS has failed on this connection: " + TakeOpensslError());
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return Status::Ok();
}

void Session::Close() {
  ERR_clear_error();
  (void)SSL_shutdown(impl_->ssl.get());
}

void Session::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const int n = BIO_write(impl_->input, bytes.data(), Length(bytes.size()));
    MILLRACE_CHECK(n > 0, "memory takes all that is written");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool Session::HasInput() const { return SSL_has_pending(impl_->ssl.get()) == 1 || BIO_ctrl_pending(impl_->input) > 0; }

std::string Session::TakeOutput() {
  std::string bytes(BIO_ctrl_pending(impl_->output), '\0');
  if (!bytes.empty()) (void)BIO_read(impl_->output, bytes.data(), Length(bytes.size()));
  return bytes;
}

}  // namespace millrace::tls
