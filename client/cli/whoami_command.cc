// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "base/tls/credentials.h"
#include "client/cli/commands.h"
#include "client/cli/documents.h"
#include "client/cli/verbs.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {
namespace {

using console::Printer;
using Json = nlohmann::ordered_json;
using Pool = job::CallerRights::Pool;

// Returns the time at which the certificate of this command ends; nothing without TLS.
std::optional<Micros> CertificateEnd() {
  const auto credentials = tls::CredentialsOfUser();
  if (!credentials.ok() || *credentials == nullptr) return std::nullopt;
  return (*credentials)->Ends().own;
}

Json ToJson(const job::CallerRights& rights) {
  Json pools = Json::object();
  for (const Pool& pool : rights.pools) pools[pool.name] = {{"submit", pool.submits}, {"administer", pool.administers}};
  const std::optional<Micros> until = CertificateEnd();
  return {{"user", console::TextOrNull(rights.user)},       {"address", rights.address},
          {"administrator", rights.administrator},          {"groups", rights.groups},
          {"certificate_ends_at", console::Seconds(until)}, {"pools", pools}};
}

std::string YesOrNo(bool yes) { return yes ? "yes" : "no"; }

void Show(const job::CallerRights& rights, Printer& out) {
  if (rights.user.empty()) {
    out << "nobody in particular: the cluster has no TLS, and everybody may do everything\n";
    return;
  }
  std::string groups;
  for (const std::string& group : rights.groups) groups += (groups.empty() ? "" : ", ") + group;
  out << "user " << Printable(rights.user) << ", from " << Printable(rights.address) << "\n"
      << "administrator: " << YesOrNo(rights.administrator) << "\n"
      << "groups: " << (groups.empty() ? "none" : Printable(groups)) << "\n";
  const Micros now = SystemClock().Now();
  const std::optional<Micros> until = CertificateEnd();
  if (until && tls::LifetimeOf(*until, now) != tls::Lifetime::kGood)
    out << "certificate: ends " << tls::WhenText(*until, now) << " (" << tls::TimeText(*until) << ")\n";
  std::vector<std::vector<std::string>> table{{"pool", "submit", "administer"}};
  for (const Pool& pool : rights.pools) {
    table.push_back({pool.name == "*" ? (rights.pools.size() == 1 ? "every pool" : "others") : pool.name,
                     YesOrNo(pool.submits), YesOrNo(pool.administers)});
  }
  out << FormatTable(table);
}

}  // namespace

Json CallerDocument(const job::CallerRights& rights) { return ToJson(rights); }

int WhoAmICommand(const Invocation& invocation, const Words& args) {
  console::Arguments arguments("whoami", "",
                               "Shows who the master takes you for, by your certificate, and what you may do: the "
                               "groups you are in, whether you are an administrator, and the pools that you may "
                               "submit to or administer.");
  arguments.Example("");
  bool json = false;
  arguments.Flag("--json", &json, "print one JSON object");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("whoami", files.status(), kUnreachable);
  const Result<job::CallerRights> rights = job::JobClient(**files).WhoAmI();
  if (!rights.ok()) return invocation.Fail("whoami", rights.status());
  Printer out(invocation.console);
  if (json) {
    out << console::Dump(ToJson(*rights)) << "\n";
  } else {
    Show(*rights, out);
  }
  if (const Status written = out.Flush(); !written.ok()) return invocation.Fail("whoami", written);
  return kDone;
}

}  // namespace millrace::cli
