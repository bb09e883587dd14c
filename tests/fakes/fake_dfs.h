// SPDX-License-Identifier: Apache-2.0
// A file system in memory with the contract of DfsClient, for all tests of code that uses a DfsClient. Thread rule: any
// thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "dfs/client/dfs_client.h"

namespace millrace::dfs::testing {

// The part that outlives the clients.
struct FakeTree {
  struct Node {
    bool directory = false;
    std::shared_ptr<const std::string> data = std::make_shared<std::string>();  // shared with its readers
    WriteOptions options = {};
    std::uint64_t id = 0;
    Mode mode = kFileMode;
    std::string owner = "somebody", group = {};
  };
  std::mutex mutex;
  std::map<std::string, Node> entries{{"/", {.directory = true, .mode = kRootMode}}};
  std::set<std::string> writing;
  std::map<std::string, std::string> written;              // by path: the data that writers handed over to attempts
  std::map<std::string, std::string> attempts;             // by path: the attempts to which the data was handed over
  std::map<std::string, std::vector<std::string>> synced;  // by path: the data at each sync; not visible to clients
  std::uint64_t next_id = 1;
  Health health;
  std::deque<BalanceStatus> balance = {{}};  // one for each call; the last one is returned again and again
  std::vector<double> thresholds;            // the thresholds with which balancing was started
  int balance_stops = 0;
  std::vector<UnhealthyBlock> unhealthy;
  Micros trash_retention = 72 * kHour;  // 0: there is no trash
  Micros trash_time = 0;                // of the last deletion; each is a microsecond after the one before
  std::optional<Micros> now = 0;        // the master's time; none: it is of a release that does not tell it
  std::vector<Deletion> deletions;      // those of "somebody", by time
  std::vector<QuotaState> quotas;
  std::map<std::string, std::vector<CheckedReplica>> replicas;
  // on_write is called before a write to `path` takes bytes, and on_read before each piece of a read, both without the
  // lock. A failure that they return is passed on.
  std::function<Status(const std::string& path)> on_write = [](const std::string&) { return Status::Ok(); };
  std::function<void(const std::string& path)> on_sync = [](const std::string&) {};  // after a sync
  std::function<Status(const std::string& path)> on_read = [](const std::string&) { return Status::Ok(); };
  std::function<void(const std::string& path)> on_create = [](const std::string&) {};
  // Called with the lock, before a mode or owner is changed. A failure that it returns is passed on.
  std::function<Status(const std::string& path)> on_change = [](const std::string&) { return Status::Ok(); };

  void MakeFile(const std::string& path, const std::string& data);
  void MakeParents(const std::string& path);  // with the lock
  [[nodiscard]] std::map<std::string, std::string> Files();
  [[nodiscard]] bool Has(const std::string& path);
};

[[nodiscard]] std::unique_ptr<DfsClient> MakeFakeClient(std::shared_ptr<FakeTree> tree);

}  // namespace millrace::dfs::testing
