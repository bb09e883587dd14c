// SPDX-License-Identifier: Apache-2.0
// BlockReporter reports the blocks on this node to the master. When a session begins, it sends the whole list and the
// contents of the trash, some of which the master may want back. Then it sends each change; changes are gathered while
// the previous call is under way. Changes that a broken session did not report are in the next session's list. A block
// that was found corrupt has dfs::kDamagedLength in that list, until it is received again or gone. So the master
// considers it a bad replica from the beginning, and never one that makes another replica superfluous. Thread rule: the
// control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "base/protocol/master.capnp.h"
#include "base/rpc/task_group.h"
#include "base/status.h"
#include "dfs/data/block_store.h"

namespace millrace::worker {

class BlockReporter {
 public:
  static constexpr std::size_t kMostInOneCall = 20'000;

  // `broken` is called when a call shows that the session is no longer of use. `restore` brings blocks back from the
  // trash.
  using Restore = std::function<kj::Promise<std::vector<dfs::StoredBlock>>(std::vector<std::uint64_t> ids)>;
  BlockReporter(kj::Timer& timer, std::function<void(const Status&)> broken, Restore restore);

  void Received(const dfs::StoredBlock& block);
  void Deleted(std::uint64_t id);
  void Corrupt(std::uint64_t id);

  // Sends `all` to the session in parts, offers `trash`, and from then on reports changes. Each call has to be answered
  // within `limit`.
  void Open(master::wire::WorkerSession::Client session, std::vector<dfs::StoredBlock> all,
            std::vector<dfs::StoredBlock> trash, kj::Duration limit);
  void Close();
  // Returns true once the master of this session knows the contents of the trash, and the blocks that it wanted are
  // back.
  [[nodiscard]] bool trash_offered() const { return trash_offered_; }

 private:
  enum class Kind { kReceived, kDeleted, kCorrupt };
  struct Event {
    Kind kind;
    dfs::StoredBlock block;
  };
  void Happened(Event event);
  void MarkCorrupt();
  kj::Promise<void> SendReport(std::size_t from);
  kj::Promise<void> OfferTrash(std::size_t from);
  kj::Promise<void> BringBack(std::vector<std::uint64_t> wanted);
  kj::Promise<void> EndReport();
  kj::Promise<void> SendNext();
  kj::Promise<void> SendBatch(Kind kind, const std::vector<dfs::StoredBlock>& blocks);
  void Schedule();

  kj::Timer& timer_;
  std::function<void(const Status&)> broken_;
  Restore restore_;
  kj::Duration limit_ = 10 * kj::SECONDS;
  std::vector<dfs::StoredBlock> report_, trash_;
  std::deque<Event> events_;
  std::set<std::uint64_t> corrupt_;  // blocks found corrupt, and since then neither received again nor gone
  bool sending_ = false;
  bool trash_offered_ = false;
  kj::Maybe<master::wire::WorkerSession::Client> session_;
  std::unique_ptr<rpc::TaskGroup> calls_;
};

}  // namespace millrace::worker
