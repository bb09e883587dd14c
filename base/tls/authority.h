// SPDX-License-Identifier: Apache-2.0
// Authority: the directory from which a cluster's certificates come. It holds ca.pem and ca-key.pem, and for each
// issued certificate a directory ("master", "worker-w1", "client-ann") with ca.pem, cert.pem and key.pem, the files
// that its process needs. Keys are for their owner alone (0600), files are written durably, and none is replaced unless
// requested. Links in the directory are not followed. A directory that others may change, or a key that they may read,
// is refused (kDenied). Thread rule: one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/certificates.h"
#include "base/tls/peer_identity.h"

namespace millrace::tls {

struct IssuedFiles {
  std::string name;       // the common name; "authority" for the authority itself
  std::string directory;  // the directory of the files
  Micros until = 0;       // when the certificate ends
};

// A certificate found in a directory.
struct FoundCertificate {
  std::string name;  // its common name
  std::string file;
  Micros from = 0, until = 0;  // since the epoch
};

// Returns the certificates in the directory's *.pem files, then those that an authority has issued, in the cert.pem of
// each subdirectory; each group is sorted by file name. A file may hold several certificates. No key is read, so the
// directory may also belong to a daemon or a user. Returns kNotFound if there is no certificate at all; `troubles` gets
// a line for each unreadable file.
[[nodiscard]] Result<std::vector<FoundCertificate>> FindCertificates(const std::string& directory,
                                                                     std::vector<std::string>* troubles);

class Authority {
 public:
  // Makes a new authority in the directory, which is made if need be. Returns kExists if the directory has an
  // authority. Finishes or repeats an attempt that was killed. Returns kBusy while another process makes one there.
  static Result<Authority> Init(const std::string& directory, const Validity& validity);
  static Result<Authority> Open(const std::string& directory);

  // Issues a certificate with a new key. Returns kExists if the identity has one, unless `replace`.
  Result<IssuedFiles> Issue(const PeerIdentity& identity, const Validity& validity, bool replace);
  // Issues an earlier certificate again, for its key or a new one, and puts the present certificate of the authority
  // beside it. Returns kNotFound if it was never issued.
  Result<IssuedFiles> Renew(const PeerIdentity& identity, const Validity& validity, bool new_key);
  // Makes a new certificate of the authority itself, for the same key. Issued certificates stay valid.
  Result<IssuedFiles> RenewOwn(const Validity& validity);
  // Returns the identities whose directories exist, by name.
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
