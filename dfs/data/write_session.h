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

#include <deque>
#include <functional>
#include <memory>
#include <string_view>
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

  // The state of the session. It only moves down this table, one line at a time. It may end in any phase, with failed_,
  // upstream_gone_ or both, and then stays in that phase.
  //
  //   Phase          Last                      what runs
  //   kOpening       kAwaited                  Run: the file is made, the next node is connected
  //   kTransferring  kAwaited                  Receive, Forward, Store, acknowledgements both ways
  //                  kReceived                 the same but Receive
  //                  kForwarded                Store, acknowledgements both ways
  //                  kStored                   FinishHere, once the next node has finished
  //   kFinished      kStored                   the last acknowledgement upstream
  enum class Phase { kOpening, kTransferring, kFinished };
  // The progress of the last packet. At the last node, a packet counts as forwarded when it is queued for the disk.
  enum class Last { kAwaited, kReceived, kForwarded, kStored };
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
  void Fail(Status why, std::vector<NodeId> nodes);
  void FailHere(const Status& why);
  void FailNext(const Status& why);
  void Start(net::Awaitable<void> child);
  [[nodiscard]] bool shares() const { return data_from_ == DataFrom::kSharedFile; }
  [[nodiscard]] bool over() const { return failed_ || upstream_gone_; }

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
  std::uint32_t next_crc_ = 0;  // set when the next node has finished
  Phase phase_ = Phase::kOpening;
  Last last_ = Last::kAwaited;
  bool forwarding_ = false;     // a packet is on its way to the next node
  bool next_finished_ = false;  // the next node acknowledged that the block is finished there
  bool failed_ = false;         // the write fails for the reason in failure_
  bool upstream_gone_ = false;  // upstream neither sends nor receives any more
  bool aborted_ = false;        // Abort was called
  Ack failure_;
  int children_ = 0;
};

}  // namespace millrace::dfs
