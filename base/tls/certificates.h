// SPDX-License-Identifier: Apache-2.0
// Functions that make keys and X.509 certificates (RFC 5280): EC P-256, SHA-256, the role in the common name
// (peer_identity.h). The issuer limits the role: the cluster's authority issues certificates to masters, workers and
// clients, and a worker issues certificates to the tasks that it runs, so that a task process never has its worker's
// key.
// Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/peer_identity.h"

namespace millrace::tls {

// A certificate and its private key, in PEM. A certificate issued by a worker is followed by the certificate of the
// worker.
struct KeyPair {
  std::string certificate, key;
};

// The time in which a certificate is valid. It begins an hour before `from`, since clocks differ.
struct Validity {
  Micros from = 0;  // since the epoch
  Micros length = 0;
};

// Makes an authority. Its common name is "Millrace authority" and a random number.
[[nodiscard]] Result<KeyPair> MakeAuthority(const Validity& validity);
// Makes a new certificate for the same authority, with the same key. Certificates issued before stay valid.
[[nodiscard]] Result<KeyPair> RenewAuthority(const KeyPair& authority, const Validity& validity);
// Issues a certificate for the identity, with a new key or, if one is given, for `key`. Requires: the role is master,
// worker or client, and `authority` is an authority. The certificate ends no later than the authority's.
[[nodiscard]] Result<KeyPair> Issue(const KeyPair& authority, const PeerIdentity& identity, const Validity& validity,
                                    const std::string& key = {});
// Issues a certificate for the tasks of a user. Returns kInvalid if a certificate cannot hold the user's name.
// Requires: `worker` is the pair of a worker.
[[nodiscard]] Result<KeyPair> IssueToTask(const KeyPair& worker, const std::string& user, const Validity& validity);

// The facts about a certificate that are shown to people.
struct CertificateFacts {
  std::string common_name;
  Micros from = 0, until = 0;  // since the epoch
};
// Returns a time in the form that messages about certificates use, such as "2026-01-31T12:00:05Z".
[[nodiscard]] std::string TimeText(Micros time);
// Returns the text that explains why a certificate is not valid now: "good from ... until ..., and here it is ...".
[[nodiscard]] std::string TimesText(Micros from, Micros until);
[[nodiscard]] Result<CertificateFacts> ReadFacts(const std::string& certificate, const std::string& what);
// Returns the facts of each certificate in the text. The text may also contain keys, or only keys. Returns kCorrupt,
// with `what` in front, if a certificate in the text makes no sense.
[[nodiscard]] Result<std::vector<CertificateFacts>> ReadAllFacts(const std::string& pem, const std::string& what);

}  // namespace millrace::tls
