// WriteSession: one node's part in writing a block: packets come from upstream, go to the disk and to the next node;
// acknowledgements come back when both have them. And ActiveWrites: the sessions of a server, by block.
// Thread rule: a session lives on its wire's strand; Abort and ActiveWrites are for any thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/net/bulk_handler.h"
#include "dfs/data/block_store.h"
#include "dfs/wire/transfer.h"

namespace millrace::dfs {

class ActiveWrites;

class WriteSession : public std::enable_shared_from_this<WriteSession> {
 public:
  // `finished` is called when the block is finished here, even if the rest of the pipeline fails.
  WriteSession(BlockStore& store, ActiveWrites& active, WriteRequest request, std::shared_ptr<net::Wire> upstream,
               std::function<void(const StoredBlock&)> finished);

  // From the answer to the request to the last acknowledgement; false: the connection is to be closed.
  net::Awaitable<bool> Run();
  void Abort();

 private:
  struct Incoming {
    Packet packet;
    std::unique_ptr<char[]> data;
    [[nodiscard]] std::string_view bytes() const { return {data.get(), packet.length}; }
  };

  net::Awaitable<void> ConnectNext();
  net::Awaitable<void> Transfer();
  net::Awaitable<void> Receive();
  net::Awaitable<Status> ReceivePacket(Incoming* incoming, std::string* header);
  net::Awaitable<void> Store();
  net::Awaitable<void> FinishHere();
  net::Awaitable<void> ReadAcks();
  net::Awaitable<void> SendAcks();
  net::Awaitable<void> Close();
  net::Awaitable<Status> SendAck(Ack ack);
  Status StoreBatch(const std::vector<Incoming>& batch);
  void Fail(Status why, std::vector<std::uint32_t> nodes);
  void FailHere(const Status& why);
  void FailNext(const Status& why);
  void Start(net::Awaitable<void> child);
  [[nodiscard]] bool over() const { return failed_ || upstream_gone_; }

  BlockStore& store_;
  ActiveWrites& active_;
  const WriteRequest request_;
  const std::shared_ptr<net::Wire> upstream_;
  const std::function<void(const StoredBlock&)> finished_here_;
  std::shared_ptr<net::Wire> next_;  // null at the last node
  std::unique_ptr<BlockFile> file_;

  net::Signal changed_;         // of anything below
  std::deque<Incoming> queue_;  // for the disk
  std::vector<std::unique_ptr<char[]>> spare_;
  std::uint64_t received_ = 0, stored_ = 0, next_acked_ = 0;
  bool received_last_ = false, stored_last_ = false, next_finished_ = false, finished_ = false;
  bool begun_ = false;  // the pipeline stands, and upstream was told so
  bool upstream_gone_ = false, aborted_ = false, failed_ = false;
  Ack failure_;
  int children_ = 0;
};

class ActiveWrites {
 public:
  void Add(std::uint64_t block, const std::shared_ptr<WriteSession>& session);
  void Remove(std::uint64_t block);
  // Aborts the session that is writing `block`, if any, and waits for its end.
  net::Awaitable<void> End(std::uint64_t block);

 private:
  struct Entry {
    std::weak_ptr<WriteSession> session;
    std::vector<std::function<void()>> waiting;
  };
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace millrace::dfs
