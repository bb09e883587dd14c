// SPDX-License-Identifier: Apache-2.0
// WriteSession: one node's part in writing a block. Packets come from upstream and go to the next node and to the disk;
// acknowledgements go back when both have them.
//
// The data comes with the packets, or from a writer on this machine, which puts it into the unfinished file and sends
// only headers. Data from such a writer is read back into memory that the writer cannot reach, and checked before it is
// forwarded or stored. If this is the only node, the read and check happen when the data is stored, so that no packet
// needs an extra trip to the disk threads. If there is a next node, they happen before the data is forwarded, and the
// data is then neither read nor checked again. Thread rule: a session lives on its wire's strand; Abort may be called
// from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/net/bulk_handler.h"
#include "dfs/data/block_store.h"
#include "dfs/wire/transfer.h"

namespace millrace::dfs {

class ActiveWrites;

enum class DataFrom { kPackets, kSharedFile };

class WriteSession : public std::enable_shared_from_this<WriteSession> {
 public:
  // `finished` is called when the block is finished here, even if the rest of the pipeline fails. Requires: for
  // kSharedFile, `upstream` is a local wire.
  WriteSession(BlockStore& store, ActiveWrites& active, WriteRequest request, DataFrom data_from,
               std::shared_ptr<net::Wire> upstream, std::function<void(const StoredBlock&)> finished);

  // Runs the session, from the answer to the request to the last acknowledgement. Returns false if the connection is to
  // be closed.
  net::Awaitable<bool> Run();
  void Abort();

 private:
  struct Incoming {
    Packet packet;
    std::unique_ptr<char[]> data;  // null while it is in the shared file only
    [[nodiscard]] std::vector<std::uint32_t> crcs() const {
      return {packet.crcs.begin(), packet.crcs.begin() + static_cast<std::ptrdiff_t>(packet.chunks())};
    }
    [[nodiscard]] std::string_view bytes() const { return {data.get(), packet.length}; }
  };

  // The state of the session. It only moves down this table, one line at a time (Advance). It may end in any stage,
  // with a failure, without upstream, or both, and then stays in that stage. At the last node, a packet counts as
  // forwarded when it is queued for the disk.
  //
  //   Stage       the last packet    what runs
  //   kOpening    is awaited         Run: the file is made, the next node is connected
  //   kReceiving  is awaited         Receive, Forward, Store, acknowledgements both ways
  //   kReceived   was received       the same but Receive
  //   kForwarded  was forwarded      Store, acknowledgements both ways
  //   kStored     was stored         FinishHere, once the next node has finished
  //   kFinished   was stored         the last acknowledgement upstream
  enum class Stage : std::uint8_t { kOpening, kReceiving, kReceived, kForwarded, kStored, kFinished };
  // The other end of the upstream wire, which also only moves down. kAborted: Abort cut the wire. kGone: it was noticed
  // that upstream neither sends nor receives any more.
  enum class Upstream : std::uint8_t { kThere, kAborted, kGone };
  // The sign of life that upstream is owed when there is nothing new to acknowledge.
  enum class Alive { kNotDue, kDue, kEnded };

  Status OpenHere();
  net::Awaitable<Status> AnswerRequest();
  net::Awaitable<void> ConnectNext();
  net::Awaitable<void> Transfer();
  net::Awaitable<void> Receive();
  net::Awaitable<Status> ReceivePacket(Incoming* incoming);
  net::Awaitable<void> Accept(Incoming incoming);
  net::Awaitable<void> ReadShared();
  Status ReadSharedBatch(std::vector<Incoming>& batch);
  net::Awaitable<void> Forward(Incoming incoming);
  net::Awaitable<void> Store();
  net::Awaitable<void> FinishHere();
  net::Awaitable<void> ReadAcks();
  net::Awaitable<void> SendAcks();
  net::Awaitable<void> KeepAlive();
  net::Awaitable<void> Close();
  net::Awaitable<Status> SendAck(Ack ack);
  Status StoreBatch(const std::vector<Incoming>& batch);
  Status StoreShared(const Incoming& incoming);
  [[nodiscard]] std::vector<Incoming> TakeBatch(std::deque<Incoming>& from) const;
  [[nodiscard]] std::unique_ptr<char[]> Buffer();
  void Advance(Stage next);  // Requires: `next` is the stage after the present one
  void LoseUpstream();
  void Fail(Status why, std::vector<NodeId> nodes);
  void FailHere(const Status& why);
  void FailNext(const Status& why);
  void Start(net::Awaitable<void> child);
  [[nodiscard]] bool shares() const { return data_from_ == DataFrom::kSharedFile; }
  [[nodiscard]] bool over() const { return failure_.has_value() || upstream_end_ == Upstream::kGone; }

  BlockStore& store_;
  ActiveWrites& active_;
  const WriteRequest request_;
  const DataFrom data_from_;
  const std::shared_ptr<net::Wire> upstream_;
  const std::function<void(const StoredBlock&)> finished_here_;
  std::shared_ptr<net::Wire> next_;  // null at the last node
  std::unique_ptr<BlockFile> file_;
  Fd shared_;                        // until the writer has it
  std::unique_ptr<char[]> scratch_;  // the buffer of the disk thread that stores

  [[nodiscard]] Micros silence() const;  // how long the next node may be silent

  net::Signal changed_;  // notified of any change below
  net::asio::steady_timer alive_timer_;
  Alive alive_ = Alive::kNotDue;
  std::deque<Incoming> arrived_;  // headers whose data must be read before it is forwarded
  std::deque<Incoming> queue_;    // for the disk
  std::vector<std::unique_ptr<char[]>> spare_;
  std::uint64_t received_ = 0, forwarded_ = 0, stored_ = 0, next_acked_ = 0;
  std::optional<std::uint32_t> next_crc_;  // set when the next node acknowledged that the block is finished there
  Stage stage_ = Stage::kOpening;
  Upstream upstream_end_ = Upstream::kThere;
  bool forwarding_ = false;     // a packet is on its way to the next node
  std::optional<Ack> failure_;  // set once the write fails
  int children_ = 0;
};

// ActiveWrites: a server's write sessions by block, so that a block can be closed while a session writes it. Thread
// rule: any thread.
class ActiveWrites {
 public:
  void Add(std::uint64_t block, const std::shared_ptr<WriteSession>& session);
  void Remove(std::uint64_t block);
  // Aborts the session that writes `block`, if any, and waits until it ends.
  net::Awaitable<void> End(std::uint64_t block);

 private:
  struct ActiveWrite {
    std::weak_ptr<WriteSession> session;
    std::vector<std::function<void()>> waiting;
  };
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, ActiveWrite> entries_;
};

}  // namespace millrace::dfs
