// SPDX-License-Identifier: Apache-2.0
// ClusterPeers lists the peers to which the tasks of a worker may connect by TCP: the masters in its configuration, the
// bulk servers of the cluster's workers as the master lists them, and the system's name servers. About an unknown
// address it asks the master, on a thread of its own and at most once a second. Thread rule: any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "dfs/client/dfs_client.h"
#include "dfs/client/master_connection.h"
#include "worker/sandbox/socket_gate.h"

namespace millrace::worker {

class ClusterPeers final : public sandbox::PeerList {
 public:
  // Returns the options for reaching the master, to ask for the workers. It is called only when a task first tries an
  // unknown address, since the cluster is known only once the worker has joined it.
  using MasterOptions = std::function<Result<dfs::ClientOptions>()>;
  // `local_socket` is the abstract unix socket of the worker's own bulk server.
  ClusterPeers(const std::string& masters, std::string local_socket, MasterOptions options, Log log);

  ~ClusterPeers() override;  // waits for the question to the master that is under way

  [[nodiscard]] std::optional<bool> Allows(const sockaddr_storage& address,
                                           const std::function<void()>& later) override;
  [[nodiscard]] bool AllowsLocal(std::string_view abstract_name) override { return abstract_name == local_socket_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Addresses = std::set<std::string>;  // numeric, with ports
  void Loop();
  Status Ask(Addresses* found);

  const std::string masters_, local_socket_;
  const MasterOptions options_;
  const Log log_;
  std::shared_ptr<dfs::MasterConnection> connection_;  // the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  Addresses known_;
  std::vector<std::function<void()>> waiting_;  // for the master's answer
  Time asked_;                                  // when the master answered, or could not
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace millrace::worker
