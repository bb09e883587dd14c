// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/tls/authority.h"
#include "base/tls/expiry.h"
#include "client/cli/commands.h"

namespace millrace::cli {
namespace {

using console::Arguments;
using console::Printer;
using tls::Authority;
using tls::IssuedFiles;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kAuthorityDays = 3650, kDays = 365, kMostDays = 36500;
constexpr const char* kAuthority = "authority";

tls::Validity ValidFor(std::int64_t days) { return {SystemClock().Now(), days * 24 * kHour}; }

// The options that all verbs share: the time of validity, and the form of the output.
struct Asked {
  std::int64_t days;
  bool json = false;

  void Declare(Arguments& arguments) {
    arguments.Integer("--days", &days, 1, kMostDays,
                      "how long the certificate is valid (default " + std::to_string(days) + ")");
    arguments.Flag("--json", &json, "print the result as JSON");
  }
};

// Says which files to copy where, and which options name them.
std::string Advice(const IssuedFiles& issued) {
  const std::string from = "copy " + issued.directory + "/{ca,cert,key}.pem to ";
  const std::string options = "tls.ca, tls.certificate and tls.key name them";
  if (issued.name == "master") return from + "the master's machine, readable by its user alone; " + options;
  if (issued.name.starts_with("worker:")) return from + "that worker's machine, readable by its user alone; " + options;
  return from + "a directory of that user's, readable by nobody else; --tls or MILLRACE_TLS names the directory";
}

int Tell(const Invocation& invocation, const std::string& verb, const std::vector<IssuedFiles>& all, bool json,
         bool with_advice) {
  Printer out(invocation.console);
  for (const IssuedFiles& issued : all) {
    if (json) {
      Json object{{"name", issued.name}};
      console::SetBytes(object, "directory", issued.directory);
      object["ends_at"] = console::Seconds(issued.until);
      out << console::Dump(object) << "\n";
      continue;
    }
    out << issued.name << ": " << issued.directory << ", valid until " << tls::TimeText(issued.until) << "\n";
    if (with_advice) out << Advice(issued) << "\n";
  }
  const Status written = out.Flush();
  return written.ok() ? kDone : invocation.Fail(verb, written);
}

int Init(const Invocation& invocation, const Words& args) {
  Arguments arguments("ca init", "DIRECTORY",
                      "Makes the authority of a cluster's certificates: a key and a certificate in DIRECTORY, which is "
                      "to be kept where no daemon runs. Anyone who has its ca-key.pem can pose as anybody.");
  Asked asked{kAuthorityDays};
  asked.Declare(arguments);
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<Authority> made = Authority::Init(arguments.operands()[0], ValidFor(asked.days));
  if (!made.ok()) return invocation.Fail("ca init", made.status());
  const Result<IssuedFiles> own = made->own();
  if (!own.ok()) return invocation.Fail("ca init", own.status());
  return Tell(invocation, "ca init", {*own}, asked.json, false);
}

int Issue(const Invocation& invocation, const Words& args) {
  Arguments arguments("ca issue", "DIRECTORY ROLE...",
                      "Issues certificates of the authority in DIRECTORY. ROLE is master, worker:NAME or client:USER.");
  Asked asked{kDays};
  bool force = false;
  asked.Declare(arguments);
  arguments.Flag("--force", &force, "replace an existing certificate and its key");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 2, SIZE_MAX)) return *status;
  std::vector<tls::PeerIdentity> identities;
  for (std::size_t i = 1; i < arguments.operands().size(); ++i) {
    Result<tls::PeerIdentity> identity = tls::ParseIdentity(arguments.operands()[i]);
    if (identity.ok() && identity->role == tls::Role::kTask)
      identity = Invalid("certificates of tasks are issued by workers, when they start them");
    if (!identity.ok()) return invocation.Fail("ca issue", identity.status(), kWrongUsage);
    identities.push_back(*identity);
  }
  Result<Authority> authority = Authority::Open(arguments.operands()[0]);
  if (!authority.ok()) return invocation.Fail("ca issue", authority.status());
  std::vector<IssuedFiles> all;
  for (const tls::PeerIdentity& identity : identities) {
    const Result<IssuedFiles> issued = authority->Issue(identity, ValidFor(asked.days), force);
    if (!issued.ok()) return invocation.Fail("ca issue", issued.status());
    all.push_back(*issued);
  }
  return Tell(invocation, "ca issue", all, asked.json, true);
}

int Renew(const Invocation& invocation, const Words& args) {
  Arguments arguments(
      "ca renew", "DIRECTORY [ROLE...]",
      "Issues certificates again, for the keys that they have: those of each ROLE, or all that are in "
      "DIRECTORY. The role authority renews the authority's own. Daemons read the new files without a restart.");
  Asked asked{0};
  bool new_key = false;
  arguments.Integer("--days", &asked.days, 1, kMostDays,
                    "how long the certificates are valid (default 365, and 3650 for the authority)");
  arguments.Flag("--json", &asked.json, "print the result as JSON");
  arguments.Flag("--new-key", &new_key, "make new keys, too");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, SIZE_MAX)) return *status;
  Result<Authority> authority = Authority::Open(arguments.operands()[0]);
  if (!authority.ok()) return invocation.Fail("ca renew", authority.status());
  Words names(arguments.operands().begin() + 1, arguments.operands().end());
  if (names.empty()) {
    const Result<std::vector<tls::PeerIdentity>> issued = authority->List();
    if (!issued.ok()) return invocation.Fail("ca renew", issued.status());
    for (const tls::PeerIdentity& identity : *issued) names.push_back(ToText(identity));
  }
  std::vector<IssuedFiles> all;
  for (const std::string& name : names) {
    Result<IssuedFiles> renewed = [&]() -> Result<IssuedFiles> {
      if (name == kAuthority) return authority->RenewOwn(ValidFor(asked.days == 0 ? kAuthorityDays : asked.days));
      MILLRACE_ASSIGN(const tls::PeerIdentity identity, tls::ParseIdentity(name));
      return authority->Renew(identity, ValidFor(asked.days == 0 ? kDays : asked.days), new_key);
    }();
    if (!renewed.ok()) return invocation.Fail("ca renew", renewed.status());
    all.push_back(*std::move(renewed));
  }
  return Tell(invocation, "ca renew", all, asked.json, false);
}

std::string StateOf(Micros until, Micros now) {
  switch (tls::LifetimeOf(until, now)) {
    case tls::Lifetime::kGood:
      return "good";
    case tls::Lifetime::kEnds:
      return "ends";
    case tls::Lifetime::kEnded:
      break;
  }
  return "ended";
}

int List(const Invocation& invocation, const Words& args) {
  Arguments arguments("ca list", "DIRECTORY",
                      "Lists certificates with their ends, the first to end first: all that the authority in DIRECTORY "
                      "has issued and its own, "
                      "or those of a daemon or a user whose directory it is. It reads no keys.");
  arguments.Offline();
  arguments.Example("ca");
  arguments.Example("/etc/millrace/tls");
  bool json = false;
  arguments.Flag("--json", &json, "print one JSON array");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  std::vector<std::string> troubles;
  auto found = tls::FindCertificates(arguments.operands()[0], &troubles);
  if (!found.ok()) return invocation.Fail("ca list", found.status());
  std::ranges::stable_sort(*found, {}, &tls::FoundCertificate::until);
  const Micros now = SystemClock().Now();
  Printer out(invocation.console);
  console::JsonList list(out);
  std::vector<Words> rows{{"NAME", "ENDS", "WHEN", "FILE"}};
  for (const tls::FoundCertificate& one : *found) {
    rows.push_back({one.name, tls::TimeText(one.until), tls::WhenText(one.until, now), one.file});
    if (!json) continue;
    Json object{{"name", one.name}};
    console::SetBytes(object, "file", one.file);
    object["begins_at"] = console::Seconds(one.from);
    object["ends_at"] = console::Seconds(one.until);
    object["state"] = StateOf(one.until, now);
    list.Add(object);
  }
  if (json) {
    list.Close();
  } else {
    out << FormatTable(rows);
  }
  if (const Status written = out.Flush(); !written.ok()) return invocation.Fail("ca list", written);
  for (const std::string& trouble : troubles) (void)invocation.Fail("ca list", Status(StatusCode::kCorrupt, trouble));
  return troubles.empty() ? kDone : kFailed;
}

}  // namespace

std::vector<Verb> CaVerbs() {
  return {{"init", "make the authority of a cluster's certificates", Init, {}},
          {"issue", "issue certificates for the master, a worker or a user", Issue, {}},
          {"renew", "issue certificates again before they end", Renew, {}},
          {"list", "list the certificates, and when they end", List, {}}};
}

}  // namespace millrace::cli
