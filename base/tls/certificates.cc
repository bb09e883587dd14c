// SPDX-License-Identifier: Apache-2.0
#include "base/tls/certificates.h"

#include <openssl/rand.h>

#include <cstdio>
#include <ctime>
#include <vector>

#include "base/tls/openssl.h"

namespace millrace::tls {
namespace {

struct Extension {
  int nid;
  const char* value;
};

struct Shape {
  std::string common_name;
  std::vector<Extension> extensions;
};

constexpr Micros kClocksDiffer = kHour;
constexpr const char* kBothSides = "serverAuth,clientAuth";

Status Failed(const std::string& what) { return Status(StatusCode::kInternal, what + ": " + TakeOpensslError()); }

Shape ShapeOf(const PeerIdentity& identity) {
  Shape shape{ToText(identity), {}};
  if (identity.role == Role::kWorker) {
    shape.extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                        {NID_key_usage, "critical,digitalSignature,keyCertSign"},
                        {NID_ext_key_usage, kBothSides}};
  } else {
    shape.extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                        {NID_key_usage, "critical,digitalSignature"},
                        {NID_ext_key_usage, identity.role == Role::kMaster ? kBothSides : "clientAuth"}};
  }
  return shape;
}

Result<OwnKey> KeyFrom(const std::string& pem) {
  if (!pem.empty()) return ReadKey(pem, "the key");
  OwnKey key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("make a key");
  return key;
}

bool SetSerial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, and never zero
  const std::unique_ptr<BIGNUM, Freed<BN_free>> number(BN_bin2bn(bytes, sizeof bytes, nullptr));
  return number != nullptr && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetTimes(X509* certificate, const Validity& validity, const X509* issuer) {
  const std::time_t from = (validity.from - kClocksDiffer) / kSecond;
  const std::time_t until = (validity.from + validity.length) / kSecond;
  if (ASN1_TIME_set(X509_getm_notBefore(certificate), from) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate), until) == nullptr) {
    return false;
  }
  if (issuer == nullptr || ASN1_TIME_compare(X509_get0_notAfter(issuer), X509_get0_notAfter(certificate)) >= 0)
    return true;
  return X509_set1_notAfter(certificate, X509_get0_notAfter(issuer)) == 1;
}

bool AddExtension(X509* certificate, X509* issuer, const Extension& extension) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  const std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>> made(
      X509V3_EXT_conf_nid(nullptr, &context, extension.nid, extension.value));
  return made != nullptr && X509_add_ext(certificate, made.get(), -1) == 1;
}

// Makes a certificate and signs it; one without an issuer signs itself.
Result<OwnCertificate> Sign(const Shape& shape, EVP_PKEY* key, const Validity& validity, X509* issuer,
                            EVP_PKEY* issuer_key) {
  OwnCertificate made(X509_new());
  X509* const certificate = made.get();
  const auto* const name = reinterpret_cast<const unsigned char*>(shape.common_name.c_str());
  X509_NAME* const subject = X509_get_subject_name(certificate);
  X509* const signer = issuer == nullptr ? certificate : issuer;
  bool good = X509_set_version(certificate, X509_VERSION_3) == 1 && SetSerial(certificate) &&
              SetTimes(certificate, validity, issuer) && X509_set_pubkey(certificate, key) == 1 &&
              X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, name, -1, -1, 0) == 1 &&
              X509_set_issuer_name(certificate, X509_get_subject_name(signer)) == 1;
  for (const Extension& extension : shape.extensions) good = good && AddExtension(certificate, signer, extension);
  good = good && AddExtension(certificate, signer, {NID_subject_key_identifier, "hash"}) &&
         AddExtension(certificate, signer, {NID_authority_key_identifier, "keyid:always"}) &&
         X509_sign(certificate, issuer_key, EVP_sha256()) > 0;
  if (!good) return Failed("make the certificate of " + shape.common_name);
  return made;
}

Result<KeyPair> IssueShape(const KeyPair& issuer, const Shape& shape, const Validity& validity,
                           const std::string& pem) {
  MILLRACE_ASSIGN(const OwnCertificate by, ReadCertificate(issuer.certificate, "the issuer"));
  MILLRACE_ASSIGN(const OwnKey by_key, ReadKey(issuer.key, "the issuer's key"));
  if (X509_check_private_key(by.get(), by_key.get()) != 1)
    return Invalid("the issuer's key is not that of its certificate");
  MILLRACE_ASSIGN(const OwnKey key, KeyFrom(pem));
  MILLRACE_ASSIGN(const OwnCertificate made, Sign(shape, key.get(), validity, by.get(), by_key.get()));
  return KeyPair{ToPem(made.get()), ToPem(key.get())};
}

Result<KeyPair> SignItself(const std::string& common_name, const Validity& validity, const std::string& pem) {
  const Shape shape{
      common_name,
      {{NID_basic_constraints, "critical,CA:TRUE,pathlen:1"}, {NID_key_usage, "critical,keyCertSign,cRLSign"}}};
  MILLRACE_ASSIGN(const OwnKey key, KeyFrom(pem));
  MILLRACE_ASSIGN(const OwnCertificate made, Sign(shape, key.get(), validity, nullptr, key.get()));
  return KeyPair{ToPem(made.get()), ToPem(key.get())};
}

std::string RandomHex() {
  unsigned char bytes[4] = {};
  (void)RAND_bytes(bytes, sizeof bytes);
  char text[2 * sizeof bytes + 1];
  std::snprintf(text, sizeof text, "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
  return text;
}

}  // namespace

Result<KeyPair> MakeAuthority(const Validity& validity) {
  return SignItself("Millrace authority " + RandomHex(), validity, {});
}

Result<KeyPair> RenewAuthority(const KeyPair& authority, const Validity& validity) {
  MILLRACE_ASSIGN(const CertificateFacts facts, ReadFacts(authority.certificate, "the authority"));
  return SignItself(facts.common_name, validity, authority.key);
}

Result<KeyPair> Issue(const KeyPair& authority, const PeerIdentity& identity, const Validity& validity,
                      const std::string& key) {
  return IssueShape(authority, ShapeOf(identity), validity, key);
}

Result<KeyPair> IssueToTask(const KeyPair& worker, const std::string& user, const Validity& validity) {
  const PeerIdentity task{Role::kTask, user};
  MILLRACE_TRY(ParseIdentity(ToText(task)).status());
  MILLRACE_ASSIGN(KeyPair made, IssueShape(worker, ShapeOf(task), validity, {}));
  made.certificate += worker.certificate;
  return made;
}

std::string TimeText(Micros time) {
  const std::time_t seconds = time / kSecond;
  std::tm parts{};
  char text[32];
  ::gmtime_r(&seconds, &parts);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string TimesText(Micros from, Micros until) {
  return "good from " + TimeText(from) + " until " + TimeText(until) + ", and here it is " +
         TimeText(SystemClock().Now());
}

namespace {

CertificateFacts FactsOf(const X509* certificate) {
  return {CommonNameOf(certificate), TimeOf(X509_get0_notBefore(certificate)), TimeOf(X509_get0_notAfter(certificate))};
}

}  // namespace

Result<CertificateFacts> ReadFacts(const std::string& pem, const std::string& what) {
  MILLRACE_ASSIGN(const OwnCertificate certificate, ReadCertificate(pem, what));
  return FactsOf(certificate.get());
}

Result<std::vector<CertificateFacts>> ReadAllFacts(const std::string& pem, const std::string& what) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  std::vector<CertificateFacts> all;
  for (std::size_t at = pem.find(kBegin); at != pem.npos; at = pem.find(kBegin, at + 1)) {
    MILLRACE_ASSIGN(const CertificateFacts facts, ReadFacts(pem.substr(at), what));
    all.push_back(facts);
  }
  return all;
}

}  // namespace millrace::tls
