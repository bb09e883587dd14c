// SPDX-License-Identifier: Apache-2.0
// Credentials: the certificate and key that a process shows to its peers, and the authorities that it trusts.
// Credentials from files are read again when the files change, so that a renewed certificate is used from the next
// connection on; open connections stay open. If a new file is broken or does not fit the others, a line is logged and
// the old credentials stay in use.
//
// TLS 1.3 with AES-GCM, both sides with certificates. A peer is trusted if the chain of its certificate ends at an
// authority of ours and each issuer in it may issue for that role (certificates.h). Roles are checked, not host names.
// Thread rule: any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "base/tls/certificates.h"
#include "base/tls/expiry.h"
#include "base/tls/peer_identity.h"
#include "base/tls/tls_files.h"

namespace millrace::tls {

// Credentials as texts, in PEM.
struct CredentialTexts {
  std::string authorities;
  KeyPair own;
};

class Context;  // session.h

// The validity of a task's certificate. A task process gets a new certificate after half of this time, as long as it
// lives. It lives no longer than its job, so a certificate that leaks from a job is valid for at most a day after the
// job's end.
inline constexpr Micros kTaskValidity = 24 * kHour;

class Credentials {
 public:
  // Reads the files. Returns kIo, kCorrupt or kInvalid, with the file, if they cannot be used.
  static Result<std::shared_ptr<Credentials>> Load(TlsFiles files, Log log);
  static Result<std::shared_ptr<Credentials>> From(const CredentialTexts& texts);
  ~Credentials();

  // Uses `texts` instead of the present ones from the next connection on. Requires: this object was made by From.
  Status Replace(const CredentialTexts& texts);

  // Returns the context for the next connection. It checks the files, so it may wait for a disk, though seldom for
  // long.
  [[nodiscard]] std::shared_ptr<const Context> Current();
  [[nodiscard]] PeerIdentity self();  // the identity in our certificate
  [[nodiscard]] CertificateEnds Ends();
  // Returns credentials for a task of this user. They last kTaskValidity, but no longer than ours. Requires: ours are
  // those of a worker.
  [[nodiscard]] Result<CredentialTexts> ForTask(const std::string& user, Micros now);

 private:
  struct Impl;
  explicit Credentials(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The environment variable with the directory of a user's files (TlsFilesIn). Commands and the processes that they
// start read it; empty or not set: no TLS.
inline constexpr const char* kTlsEnvironment = "MILLRACE_TLS";

// Returns the credentials in the files of the directory that kTlsEnvironment names, or null without TLS.
[[nodiscard]] Result<std::shared_ptr<Credentials>> CredentialsOfUser();

// Returns the credentials that the files hold, or null if no file is named.
[[nodiscard]] Result<std::shared_ptr<Credentials>> LoadIfGiven(const TlsFiles& files, const Log& log);

// Returns the credentials of a daemon (a master or a worker) that listens at `host`. Without TLS, returns null, and
// logs a warning if other machines can reach the daemon. Returns kInvalid if the certificate is for another role.
[[nodiscard]] Result<std::shared_ptr<Credentials>> LoadForDaemon(const TlsFiles& files, std::string_view host,
                                                                 Role role, const Log& log);

}  // namespace millrace::tls
