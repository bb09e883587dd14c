// SPDX-License-Identifier: Apache-2.0
// Data nodes with real sockets in one process, for tests of block transfer.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/net/bulk_server.h"
#include "base/random.h"
#include "dfs/client/block_reader.h"
#include "dfs/client/block_writer.h"
#include "dfs/data/block_server.h"
#include "tests/dfs/data/block_bytes.h"
#include "tests/fakes/memory_block_store.h"
#include "tests/node_ids.h"

namespace millrace::dfs {

inline constexpr Micros kStall = 20 * kSecond;

// The events that a node's observer has received.
class Told {
 public:
  BlockObserver Observer() {
    return {[this](const StoredBlock& block) { Add(received_, block); },
            [this](std::uint64_t id) { Add(corrupt_, id); }};
  }
  // These wait for the first event of their kind.
  StoredBlock Received() { return First(received_); }
  std::uint64_t Corrupt() { return First(corrupt_); }

 private:
  template <class T>
  void Add(std::vector<T>& to, const T& what) {
    const std::lock_guard lock(mutex_);
    to.push_back(what);
    changed_.notify_all();
  }
  template <class T>
  T First(std::vector<T>& from) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !from.empty(); });
    return from.front();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<StoredBlock> received_;
  std::vector<std::uint64_t> corrupt_;
};

struct Node {
  Node(NodeId id, std::unique_ptr<BlockStore> blocks, Micros idle,
       std::shared_ptr<tls::Credentials> credentials = nullptr)
      : store(std::move(blocks)) {
    net::BulkServerOptions options;
    options.bind = "127.0.0.1";
    options.idle_timeout = idle;
    options.credentials = std::move(credentials);
    options.local_socket = "millrace-block-test-" + std::to_string(SeedFromSystem());
    server = std::make_unique<net::BulkServer>(options, MakeSilentLog());
    block_server = std::make_unique<BlockServer>(*server, *store, told.Observer(), MakeSilentLog());
    const Status started = server->Start();
    EXPECT_TRUE(started.ok()) << started.message();
    place.node = id;
    place.host = "127.0.0.1";
    place.port = server->port();
    local_socket = options.local_socket;
    if (options.credentials == nullptr) block_server->UseKeys({id, {}, {}});
  }
  ~Node() { server->Stop(); }

  // Returns the node's place with its local socket, as a client on this machine sees it. Reads from `place`, which has
  // no local socket, go over TCP.
  [[nodiscard]] ReplicaHost Local() const {
    ReplicaHost local = place;
    local.local_socket = local_socket;
    return local;
  }

  std::unique_ptr<BlockStore> store;
  Told told;
  std::unique_ptr<net::BulkServer> server;
  std::unique_ptr<BlockServer> block_server;
  ReplicaHost place;
  std::string local_socket;
};

class NodesTest : public testing::Test {
 protected:
  // Adds a node. Nodes are numbered from 1.
  Node& AddNode(std::uint64_t capacity = std::uint64_t{1} << 30, Micros idle = 60 * kSecond) {
    nodes_.push_back(std::make_unique<Node>(NextId(), MakeMemoryBlockStore(capacity), idle));
    return *nodes_.back();
  }
  // Adds a node whose disk refuses the next sync after *refuses is set, and loses the data of that sync.
  Node& AddFailingNode(std::shared_ptr<std::atomic<bool>> refuses) {
    const auto disk = [refuses = std::move(refuses)](WriteStep step) {
      const bool fails = step == WriteStep::kSync && refuses->exchange(false);
      return fails ? Status(StatusCode::kIo, "Input/output error") : Status::Ok();
    };
    nodes_.push_back(std::make_unique<Node>(NextId(), MakeMemoryBlockStore(1 << 30, disk), 60 * kSecond));
    return *nodes_.back();
  }
  Node& AddDiskNode() {
    directories_.push_back(std::move(*TempDir::Make("node")));
    auto store = OpenDiskBlockStore(directories_.back().path(), 0);
    EXPECT_TRUE(store.ok()) << store.status().message();
    nodes_.push_back(std::make_unique<Node>(NextId(), std::move(*store), 60 * kSecond));
    return *nodes_.back();
  }
  [[nodiscard]] NodeId NextId() const { return NodeId{static_cast<std::uint32_t>(nodes_.size() + 1)}; }
  [[nodiscard]] std::vector<ReplicaHost> Pipeline() const {
    std::vector<ReplicaHost> places;
    for (const auto& node : nodes_) places.push_back(node->place);
    return places;
  }
  std::unique_ptr<BlockWriter> OpenWriter(std::uint64_t block, const std::vector<ReplicaHost>& pipeline) {
    std::vector<NodeId> failed;
    auto writer = BlockWriter::Open(block, pipeline, kStall, &failed);
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return std::move(*writer);
  }
  void WriteBlock(std::uint64_t block, const std::vector<ReplicaHost>& pipeline, std::string_view data) {
    const auto writer = OpenWriter(block, pipeline);
    ASSERT_TRUE(writer->Write(data).ok());
    const auto written = writer->Finish();
    ASSERT_TRUE(written.ok()) << written.status().message();
  }

  std::vector<TempDir> directories_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

// The results of ReadBlock, with the bytes as a string.
struct ReadResult {
  Status status;
  std::string bytes;
  ReadSource source = ReadSource::kLocal;
  std::vector<NodeId> bad;
};
inline ReadResult ReadAll(const LocatedBlock& block, std::uint64_t offset, std::uint64_t size) {
  ReadResult result;
  result.status = ReadBlock(
      block, offset, size, kStall, [&](std::uint64_t, NodeId node) { result.bad.push_back(node); },
      [&](std::string_view piece) {
        result.bytes.append(piece);
        return true;
      },
      &result.source);
  return result;
}

}  // namespace millrace::dfs
