// SPDX-License-Identifier: Apache-2.0
#include "base/tls/openssl.h"

#include <openssl/pem.h>

#include <ctime>

namespace millrace::tls {
namespace {

// A key that is encrypted is refused: there is nobody to type its password.
int NoPassword(char*, int, int, void*) { return 0; }

std::string TextOf(const OwnBio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace

std::string TakeOpensslError() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

OwnBio ReadingBio(std::string_view bytes) {
  return OwnBio(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

Result<OwnCertificate> ReadCertificate(std::string_view pem, const std::string& what) {
  const OwnBio bio = ReadingBio(pem);
  OwnCertificate certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  if (certificate == nullptr) return Corrupt(what + ": no certificate in PEM: " + TakeOpensslError());
  return certificate;
}

Result<OwnKey> ReadKey(std::string_view pem, const std::string& what) {
  const OwnBio bio = ReadingBio(pem);
  OwnKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Corrupt(what + ": no private key in PEM without a password: " + TakeOpensslError());
  return key;
}

Result<OwnKey> ReadKeyOf(X509* certificate, std::string_view pem, const std::string& what) {
  MILLRACE_TRY(ReadKey(pem, what).status());
  const OwnBio bio = ReadingBio(pem);
  while (OwnKey key{PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr)}) {
    const bool fits = X509_check_private_key(certificate, key.get()) == 1;
    ERR_clear_error();
    if (fits) return key;
  }
  ERR_clear_error();
  return Invalid(what + " is not that of the certificate");
}

std::string ToPem(X509* certificate) {
  const OwnBio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return TextOf(bio);
}

std::string ToPem(EVP_PKEY* key) {
  const OwnBio bio(BIO_new(BIO_s_secmem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(bio);
}

Micros TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<Micros>(::timegm(&parts)) * kSecond : 0;
}

std::string CommonNameOf(const X509* certificate) {
  const X509_NAME* const name = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(name, NID_commonName, at) >= 0) return {};
  const ASN1_STRING* const text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

}  // namespace millrace::tls
