// SPDX-License-Identifier: Apache-2.0
// Context: the OpenSSL settings for connections made with one state of the credentials. Internal to this folder. Thread
// rule: any thread once it is made.
#pragma once

#include "base/status.h"
#include "base/tls/credentials.h"
#include "base/tls/expiry.h"
#include "base/tls/openssl.h"
#include "base/tls/peer_identity.h"

namespace millrace::tls {

class Context {
 public:
  static Result<std::shared_ptr<const Context>> Make(CredentialTexts texts);

  // Requires: the application data of each SSL made from it is a std::string, or null. The string receives the reason
  // for refusing the peer's certificate where OpenSSL's own message lacks it.
  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }
  [[nodiscard]] const CredentialTexts& texts() const { return texts_; }
  [[nodiscard]] const PeerIdentity& self() const { return self_; }
  [[nodiscard]] const CertificateEnds& ends() const { return ends_; }

 private:
  Context() = default;
  Status Believe();
  Status Show();
  void NoteEnds();

  CredentialTexts texts_;
  PeerIdentity self_;
  CertificateEnds ends_;
  OwnContext context_;
};

}  // namespace millrace::tls
