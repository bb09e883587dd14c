// SPDX-License-Identifier: Apache-2.0
#include "base/tls/context.h"

#include <openssl/pem.h>

#include <algorithm>
#include <utility>

namespace millrace::tls {
namespace {

Result<PeerIdentity> IdentityOf(const X509* certificate) { return ParseIdentity(CommonNameOf(certificate)); }

// Returns true if whoever issued the certificate at the chain's beginning may issue one of its role: the authority all
// but those of tasks, a worker only those.
bool MayBeIssued(const STACK_OF(X509) * chain) {
  const Result<PeerIdentity> leaf = IdentityOf(sk_X509_value(chain, 0));
  if (!leaf.ok()) return false;
  const int length = sk_X509_num(chain);
  if (leaf->role != Role::kTask) return length == 2;
  if (length != 3) return false;
  const Result<PeerIdentity> issuer = IdentityOf(sk_X509_value(chain, 1));
  return issuer.ok() && issuer->role == Role::kWorker;
}

// A certificate that is good only at another time: one of the two clocks may be wrong, so the message has both times.
void TellOfTimes(X509_STORE_CTX* store) {
  const int error = X509_STORE_CTX_get_error(store);
  const X509* const refused = X509_STORE_CTX_get_current_cert(store);
  const auto* const ssl =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if ((error != X509_V_ERR_CERT_NOT_YET_VALID && error != X509_V_ERR_CERT_HAS_EXPIRED) || refused == nullptr ||
      ssl == nullptr) {
    return;
  }
  auto* const told = static_cast<std::string*>(SSL_get_app_data(ssl));
  if (told == nullptr) return;
  *told = "it is " + TimesText(TimeOf(X509_get0_notBefore(refused)), TimeOf(X509_get0_notAfter(refused))) +
          "; do the clocks agree?";
}

int Verify(X509_STORE_CTX* store, void*) {
  if (X509_verify_cert(store) != 1) {
    TellOfTimes(store);
    return 0;
  }
  if (MayBeIssued(X509_STORE_CTX_get0_chain(store))) return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

}  // namespace

Result<std::shared_ptr<const Context>> Context::Make(CredentialTexts texts) {
  const std::shared_ptr<Context> made(new Context);
  made->texts_ = std::move(texts);
  made->context_.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX* const context = made->get();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384") != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1) {
    return Status(StatusCode::kInternal, "set up TLS: " + TakeOpensslError());
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(context, Verify, nullptr);
  MILLRACE_TRY(made->Believe());
  MILLRACE_TRY(made->Show());
  made->NoteEnds();
  return std::shared_ptr<const Context>(made);
}

Status Context::Believe() {
  const OwnBio bio = ReadingBio(texts_.authorities);
  X509_STORE* const store = SSL_CTX_get_cert_store(get());
  int authorities = 0;
  while (const OwnCertificate one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(store, one.get()) != 1)
      return Corrupt("the authority's certificate: " + TakeOpensslError());
    ++authorities;
  }
  ERR_clear_error();
  return authorities > 0 ? Status::Ok() : Corrupt("the authority: no certificate in PEM");
}

Status Context::Show() {
  const OwnBio bio = ReadingBio(texts_.own.certificate);
  int shown = 0;
  while (const OwnCertificate one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    if (shown == 0) {
      MILLRACE_ASSIGN(self_, IdentityOf(one.get()));
    }
    const long added =
        shown == 0 ? SSL_CTX_use_certificate(get(), one.get()) : SSL_CTX_add1_chain_cert(get(), one.get());
    if (added != 1) return Corrupt("the certificate: " + TakeOpensslError());
    ++shown;
  }
  ERR_clear_error();
  if (shown == 0) return Corrupt("the certificate: none in PEM");
  MILLRACE_ASSIGN(const OwnKey key, ReadKeyOf(SSL_CTX_get0_certificate(get()), texts_.own.key, "the key"));
  texts_.own.key = ToPem(key.get());
  if (SSL_CTX_use_PrivateKey(get(), key.get()) == 1) return Status::Ok();
  return Invalid("the key: " + TakeOpensslError());
}

// An authority that was renewed is there twice for a while, by the same name: the later end counts.
void Context::NoteEnds() {
  const X509* const own = SSL_CTX_get0_certificate(get());
  ends_.own = TimeOf(X509_get0_notAfter(own));
  const OwnBio bio = ReadingBio(texts_.authorities);
  while (const OwnCertificate one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    if (X509_NAME_cmp(X509_get_subject_name(one.get()), X509_get_issuer_name(own)) == 0)
      ends_.authority = std::max(ends_.authority, TimeOf(X509_get0_notAfter(one.get())));
  }
  ERR_clear_error();
}

}  // namespace millrace::tls
