// Credentials: what a process shows to its peers and whom it believes. One that comes from files is read again when
// they change, so that a renewed certificate is used from the next connection on; connections that are open go on. A
// new file that is broken, or does not fit the others, is logged, and the old ones stay in force.
//
// TLS 1.3 with AES-GCM, both sides with certificates. A peer is believed if the chain of its certificate ends at an
// authority of ours and says nothing that its issuer may not say (certificates.h). Host names play no part: roles do.
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

// How long a task's certificate is good. Its process is given another after half of that, for as long as it lives,
// which is no longer than its job: so a certificate that a job has let out is good until the job's end and a day at
// most.
inline constexpr Micros kTaskValidity = 24 * kHour;

class Credentials {
 public:
  // Reads the files. Returns kIo, kCorrupt or kInvalid, with the file, if they cannot be used.
  static Result<std::shared_ptr<Credentials>> Load(TlsFiles files, Log log);
  static Result<std::shared_ptr<Credentials>> From(const CredentialTexts& texts);
  ~Credentials();

  // Takes these in place of those that it has, from the next connection on. Requires: it was made by From.
  Status Replace(const CredentialTexts& texts);

  // Returns what the next connection uses. It looks at the files, so it may wait for a disk, though seldom for long.
  [[nodiscard]] std::shared_ptr<const Context> Current();
  [[nodiscard]] PeerIdentity self();  // what our certificate says
  [[nodiscard]] CertificateEnds Ends();
  // Returns the credentials for a task of this user, which last kTaskValidity, but no longer than ours. Requires: ours
  // are a worker's.
  [[nodiscard]] Result<CredentialTexts> ForTask(const std::string& user, Micros now);

 private:
  struct Impl;
  explicit Credentials(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Names the directory of a user's files (TlsFilesIn). Commands and what they start read it; empty or not set: no TLS.
inline constexpr const char* kTlsEnvironment = "MILLRACE_TLS";

// Returns what the files of that directory hold, or null.
[[nodiscard]] Result<std::shared_ptr<Credentials>> CredentialsOfUser();

// Returns the credentials that the files hold, or null if no file is named.
[[nodiscard]] Result<std::shared_ptr<Credentials>> LoadIfGiven(const TlsFiles& files, const Log& log);

// Returns those of a daemon, which is a master or a worker and listens at `host`. Null without TLS; the log says so if
// other machines reach it. kInvalid for a certificate of another role.
[[nodiscard]] Result<std::shared_ptr<Credentials>> LoadForDaemon(const TlsFiles& files, std::string_view host,
                                                                 Role role, const Log& log);

}  // namespace millrace::tls
