// ClusterPeers: whom the tasks of a worker may connect to: the masters that it is configured with, the bulk servers of
// the cluster's workers as the master lists them, and the system's name servers, by TCP. Thread rule: any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/log.h"
#include "dfs/client/dfs_client.h"
#include "dfs/client/master_connection.h"
#include "worker/sandbox/socket_gate.h"

namespace millrace::worker {

class ClusterPeers final : public sandbox::PeerList {
 public:
  // How the master is reached to ask for the workers. It is called when a task first asks for an address that is not
  // known, since the cluster is known only once the worker has joined it.
  using MasterOptions = std::function<Result<dfs::ClientOptions>()>;
  // `local_socket` is the abstract unix socket of the worker's own bulk server.
  ClusterPeers(const std::string& masters, std::string local_socket, MasterOptions options, Log log);

  [[nodiscard]] bool Allows(const sockaddr_storage& address) override;
  [[nodiscard]] bool AllowsLocal(std::string_view abstract_name) override { return abstract_name == local_socket_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  Status Refresh();
  void Add(const std::string& host, const std::string& port);

  const std::string masters_, local_socket_;
  const MasterOptions options_;
  const Log log_;
  std::mutex mutex_;
  std::set<std::string> known_;  // numeric addresses with ports
  std::shared_ptr<dfs::MasterConnection> connection_;
  Time refreshed_;
};

}  // namespace millrace::worker
