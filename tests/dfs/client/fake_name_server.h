// SPDX-License-Identifier: Apache-2.0
// FakeNameServer is the file system's part of a master, in memory, behind a real TCP connection that tests can break.
// The test names the block servers. Lists are returned in short pages. Thread rule: any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/release.h"
#include "base/rpc/control_thread.h"
#include "base/rpc/transport.h"
#include "dfs/wire/blocks.h"

namespace millrace::dfs {

inline constexpr std::uint64_t kBlockSize = std::uint64_t{1} << 20;

class FakeNameServer {
 public:
  FakeNameServer();
  ~FakeNameServer() noexcept;
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Stop breaks every connection and refuses new ones; Start serves at the same address again.
  void Stop();
  void Start();

  // Makes the next call of this name fail after it has been carried out, as if the connection had broken before the
  // answer.
  void LoseAnswerOf(const std::string& call);
  // Returns the calls and their arguments: "create /a", "addBlock 5 without 1", "bad 7 on 2", "renew 5", "verify 7 on
  // 2" (one for each requested replica).
  [[nodiscard]] std::vector<std::string> Calls();
  [[nodiscard]] bool WasCalled(const std::string& call);
  void AwaitCall(const std::string& call);

  struct File {
    std::uint64_t id = 0;
    std::vector<WrittenBlock> blocks;
  };
  struct OpenFile {
    std::string path;
    std::set<std::uint64_t> blocks;  // blocks that were allocated
    std::vector<WrittenBlock> synced = {};
  };
  std::mutex mutex;
  std::string cluster = std::string(32, 'a');
  std::uint32_t protocol = kProtocolLevel;
  std::map<std::string, File> files;
  std::map<std::uint64_t, OpenFile> open;
  std::vector<ReplicaHost> places;  // every place is a target of new blocks, and has replicas where a block says so
  std::vector<ReplicaHost> places_once;  // used instead of `places` for the next block
  std::uint64_t next = 1;
  std::uint32_t renew_millis = 0;  // the interval at which writers of new files renew their leases; 0: never
  std::multiset<NodeId> slow;  // nodes that answer too late, once for each entry, when they are asked to read replicas

  // These are called by the services. Requires: the mutex is held.
  void Log(const std::string& call);
  [[nodiscard]] bool TakeLoss(const std::string& call);

 private:
  std::vector<std::string> calls_;
  std::string lose_;
  std::condition_variable called_;
  unsigned port_ = 0;
  rpc::ControlThread thread_;
  // The members below are used on the loop only.
  std::unique_ptr<rpc::Server> server_;
  kj::Promise<void> accepting_ = nullptr;
};

}  // namespace millrace::dfs
