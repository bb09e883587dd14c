// SPDX-License-Identifier: Apache-2.0
#include "client/cli/invocation.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

#include "base/cluster_id.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/known_clusters.h"

namespace millrace::cli {

Result<std::unique_ptr<dfs::DfsClient>> Invocation::Connect(const std::function<void()>& before_wait,
                                                            Micros call_timeout) const {
  dfs::ClientOptions options;
  options.call_timeout = call_timeout;
  options.master = master;
  options.owner = user;
  Result<std::shared_ptr<tls::Credentials>> credentials = tls::LoadIfGiven(tls::TlsFilesIn(tls), MakeSilentLog());
  if (!credentials.ok()) return credentials.status().Within("--tls or MILLRACE_TLS");
  options.credentials = std::move(*credentials);
  options.cluster = cluster;
  options.cluster_advice = "MILLRACE_CLUSTER names that one";
  MILLRACE_ASSIGN(options.patience, ParseDuration(wait));
  options.waiting = [&] {
    if (before_wait) before_wait();
    console::SayLine(console, "millrace: the master at " + master + " cannot be reached; waiting up to " + wait +
                                  " for it (--wait or MILLRACE_WAIT; 0s fails at once)");
  };
  options.delayed = [to = console](const std::string& why) { console::SayLine(to, "millrace: waiting: " + why); };
  if (!cluster.empty() && !IsClusterId(cluster))
    return Invalid("MILLRACE_CLUSTER " + Quote(cluster) + " is not a cluster id, which has 32 hexadecimal digits");
  if (!cluster.empty() || known_clusters.empty() || IsLoopback(master)) return dfs::DfsClient::Connect(options);

  const Result<KnownAddresses> found = FindKnownCluster(known_clusters, master);
  if (found.status().code() == StatusCode::kCorrupt) return found.status();
  if (!found.ok()) Fail("look up the cluster of " + master, found.status());
  if (found.ok() && found->cluster.has_value()) {
    options.cluster = found->cluster->cluster;
    options.cluster_advice = "that one served this address before; if the change is intended, remove line " +
                             std::to_string(found->cluster->line) + " of " + known_clusters;
  }
  MILLRACE_ASSIGN(std::unique_ptr<dfs::DfsClient> client, dfs::DfsClient::Connect(options));
  if (found.ok() && !found->unknown.empty()) {
    const Status remembered = RememberCluster(known_clusters, found->unknown, client->Cluster());
    if (!remembered.ok()) Fail("remember the cluster of " + master, remembered);
  }
  return client;
}

int Invocation::Fail(std::string_view what, const Status& failure, int status) const {
  console::SayError(console, what, failure);
  return status;
}

int Invocation::FailToStart(std::string_view what, const Status& failure) const {
  switch (failure.code()) {
    case StatusCode::kInvalid:
      return Fail(what, failure, kWrongUsage);
    case StatusCode::kUnavailable:
      return Fail(what, failure, kUnreachable);
    default:
      return Fail(what, failure);
  }
}

std::string UserName() {
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  if (::getpwuid_r(::geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) return found->pw_name;
  const char* user = std::getenv("USER");
  return user != nullptr && *user != '\0' ? user : "nobody";
}

}  // namespace millrace::cli
