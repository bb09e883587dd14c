// SPDX-License-Identifier: Apache-2.0
// Owning pointers to OpenSSL's objects, and its errors as text. Internal to this folder. Thread rule: as in OpenSSL 3,
// an object is used from one thread at a time, and each thread has its own queue of errors.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace millrace::tls {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using OwnBio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using OwnKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using OwnCertificate = std::unique_ptr<X509, Freed<X509_free>>;
using OwnContext = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;

// Empties this thread's queue of errors. Returns the last of them as text, or "unknown error".
[[nodiscard]] std::string TakeOpensslError();

[[nodiscard]] OwnBio ReadingBio(std::string_view bytes);  // Requires: `bytes` outlives the BIO
// These return kCorrupt, with `what` in front, if the text has no certificate or no key.
[[nodiscard]] Result<OwnCertificate> ReadCertificate(std::string_view pem, const std::string& what);
[[nodiscard]] Result<OwnKey> ReadKey(std::string_view pem, const std::string& what);
// Returns the key in the text that belongs to the certificate. During a renewal the file holds the new key and the old
// one (Authority). Returns kInvalid if none belongs to it.
[[nodiscard]] Result<OwnKey> ReadKeyOf(X509* certificate, std::string_view pem, const std::string& what);
[[nodiscard]] std::string ToPem(X509* certificate);
[[nodiscard]] std::string ToPem(EVP_PKEY* key);
[[nodiscard]] Micros TimeOf(const ASN1_TIME* time);  // since the epoch; 0 if `time` is not a time
// Returns the common name; empty if there is none or more than one.
[[nodiscard]] std::string CommonNameOf(const X509* certificate);

}  // namespace millrace::tls
