// Makes keys and X.509 certificates (RFC 5280): EC P-256, SHA-256, the role in the common name (peer_identity.h). Who
// issued a certificate decides what it may say: the cluster's authority issues those of masters, workers and clients,
// and a worker issues those of the tasks that it runs, so that a task process never has the key of its worker.
// Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/peer_identity.h"

namespace millrace::tls {

// A certificate and the private key to it, in PEM. Below a worker, its own certificate follows that of the task.
struct KeyPair {
  std::string certificate, key;
};

// The time in which a certificate is good. It begins an hour before `from`, since clocks differ.
struct Validity {
  Micros from = 0;  // since the epoch
  Micros length = 0;
};

// Makes an authority. Its common name is "Millrace authority" and a random number.
[[nodiscard]] Result<KeyPair> MakeAuthority(const Validity& validity);
// Makes another certificate of the same authority, with the same key: what the old one has issued stays good.
[[nodiscard]] Result<KeyPair> RenewAuthority(const KeyPair& authority, const Validity& validity);
// Issues a certificate for the identity, with a new key or, if one is given, for `key`. Requires: the role is master,
// worker or client, and `authority` is an authority. Its end is not after the authority's.
[[nodiscard]] Result<KeyPair> Issue(const KeyPair& authority, const PeerIdentity& identity, const Validity& validity,
                                    const std::string& key = {});
// Issues a certificate for the tasks of a user. Returns kInvalid if a certificate cannot hold the user's name.
// Requires: `worker` is a worker's.
[[nodiscard]] Result<KeyPair> IssueToTask(const KeyPair& worker, const std::string& user, const Validity& validity);

// What people are told of a certificate.
struct CertificateFacts {
  std::string common_name;
  Micros from = 0, until = 0;  // since the epoch
};
// Returns a time as messages about certificates have it, "2026-01-31T12:00:05Z".
[[nodiscard]] std::string TimeText(Micros time);
// Returns "good from ... until ..., and here it is ...": what to say of a certificate that is refused for its time.
[[nodiscard]] std::string TimesText(Micros from, Micros until);
[[nodiscard]] Result<CertificateFacts> ReadFacts(const std::string& certificate, const std::string& what);
// Returns those of each certificate in the text, which has keys besides them, or keys alone. Returns kCorrupt, with
// `what` in front, for a text that has a certificate that is none.
[[nodiscard]] Result<std::vector<CertificateFacts>> ReadAllFacts(const std::string& pem, const std::string& what);

}  // namespace millrace::tls
