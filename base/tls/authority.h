// Authority: the directory from which a cluster's certificates come. It holds ca.pem and ca-key.pem, and for each that
// was issued a directory ("master", "worker-w1", "client-ann") with ca.pem, cert.pem and key.pem, which is what the
// process that shows it needs. Keys are for their owner alone (0600), files are written durably, and none is replaced
// unless that is asked for. A link in its directory is not followed, and neither a directory that others may change nor
// a key that they may read is used (kDenied). Thread rule: one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/certificates.h"
#include "base/tls/peer_identity.h"

namespace millrace::tls {

struct IssuedFiles {
  std::string name;       // the common name; "authority"
  std::string directory;  // that has the files
  Micros until = 0;       // when the certificate ends
};

// A certificate that a directory has.
struct FoundCertificate {
  std::string name;  // its common name
  std::string file;
  Micros from = 0, until = 0;  // since the epoch
};

// Returns the certificates in the directory's files *.pem, and after them those in each of its directories' cert.pem,
// which is what an authority has issued; by name of file. A file with several has each. It reads no key, so the
// directory may also be one of a daemon or a user. Returns kNotFound if there is none at all; `troubles` gets a line
// for each file that cannot be read.
[[nodiscard]] Result<std::vector<FoundCertificate>> FindCertificates(const std::string& directory,
                                                                     std::vector<std::string>* troubles);

class Authority {
 public:
  // Makes a new one in the directory, which is made if need be. Returns kExists if there is one.
  static Result<Authority> Init(const std::string& directory, const Validity& validity);
  static Result<Authority> Open(const std::string& directory);

  // Issues a certificate with a new key. Returns kExists if there is one, unless `replace`.
  Result<IssuedFiles> Issue(const PeerIdentity& identity, const Validity& validity, bool replace);
  // Issues a certificate that was issued before again, for its key or a new one, and puts the authority's certificate
  // as it is now beside it. Returns kNotFound if it was not issued.
  Result<IssuedFiles> Renew(const PeerIdentity& identity, const Validity& validity, bool new_key);
  // Makes the authority's own certificate anew, for the same key. What it has issued stays good.
  Result<IssuedFiles> RenewOwn(const Validity& validity);
  // Returns those whose directories are there, by name.
  [[nodiscard]] Result<std::vector<PeerIdentity>> List() const;
  [[nodiscard]] Result<IssuedFiles> own() const;

 private:
  Authority(std::string directory, KeyPair pair) : directory_(std::move(directory)), pair_(std::move(pair)) {}
  [[nodiscard]] std::string DirectoryOf(const PeerIdentity& identity) const;
  Result<IssuedFiles> Put(const PeerIdentity& identity, const KeyPair& pair, bool with_key, bool replace) const;

  std::string directory_;
  KeyPair pair_;
};

}  // namespace millrace::tls
