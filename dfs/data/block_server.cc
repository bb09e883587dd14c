// SPDX-License-Identifier: Apache-2.0
#include "dfs/data/block_server.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/net/bulk_handler.h"
#include "base/net/outlet.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/tls/token.h"
#include "dfs/client/block_writer.h"
#include "dfs/data/block_checksums.h"
#include "dfs/data/block_store.h"
#include "dfs/data/write_session.h"
#include "dfs/wire/transfer.h"
#include "dfs/wire/write_order.h"

namespace millrace::dfs {

namespace asio = boost::asio;
using net::Awaitable;
using net::OnDisk;
using net::Wire;

namespace {

// PacketPump sends a range of a block's chunks as packets, with the data from its file.
// Thread rule: one thread at a time; Step runs on a disk thread.
class PacketPump {
 public:
  // Sends all chunks that [offset, offset + size) touches. Requires: the range lies in the block and is not empty.
  PacketPump(OpenBlock block, std::uint64_t id, std::uint64_t offset, std::uint64_t size);

  // Sends as much as the outlet takes. Returns true once it has taken everything, and false if it takes no more for
  // now.
  Result<bool> Step(net::Outlet& outlet);

 private:
  void NextPacket();
  Result<bool> SendHeader(net::Outlet& outlet);
  Result<bool> SendData(net::Outlet& outlet);

  const OpenBlock block_;
  const std::uint64_t id_;
  std::uint64_t next_;       // first byte of the next packet
  const std::uint64_t end_;  // the end of the last chunk
  std::string header_;
  std::size_t header_sent_ = 0;
  std::uint64_t data_at_ = 0, data_end_ = 0;
};

PacketPump::PacketPump(OpenBlock block, std::uint64_t id, std::uint64_t offset, std::uint64_t size)
    : block_(std::move(block)),
      id_(id),
      next_(offset / kChunkBytes * kChunkBytes),
      end_(std::min(block_.length, ChunkCount(offset + size) * kChunkBytes)) {
  // This is only advice to the kernel. A failure costs nothing but speed.
  ::posix_fadvise(block_.data.get(), static_cast<off_t>(next_), static_cast<off_t>(end_ - next_),
                  POSIX_FADV_SEQUENTIAL);
  NextPacket();
}

void PacketPump::NextPacket() {
  Packet packet;
  packet.offset = next_;
  packet.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(kPacketBytes, end_ - next_));
  packet.last = next_ + packet.length == end_;
  const auto first = block_.chunk_crcs.begin() + static_cast<std::ptrdiff_t>(next_ / kChunkBytes);
  std::copy_n(first, packet.chunks(), packet.crcs.begin());
  header_ = EncodePacket(packet);
  header_sent_ = 0;
  data_at_ = next_;
  data_end_ = next_ += packet.length;
}

Result<bool> PacketPump::SendHeader(net::Outlet& outlet) {
  while (header_sent_ < header_.size()) {
    MILLRACE_ASSIGN(const std::size_t n, outlet.Send(std::string_view(header_).substr(header_sent_), true));
    if (n == 0) return false;
    header_sent_ += n;
  }
  return true;
}

Result<bool> PacketPump::SendData(net::Outlet& outlet) {
  while (data_at_ < data_end_) {
    MILLRACE_ASSIGN(const std::size_t n,
                    outlet.SendFile(block_.data.get(), data_at_, data_end_ - data_at_, BlockName(id_)));
    if (n == 0) return false;
    data_at_ += n;
  }
  return true;
}

Result<bool> PacketPump::Step(net::Outlet& outlet) {
  while (true) {
    MILLRACE_ASSIGN(const bool header_sent, SendHeader(outlet));
    if (!header_sent) return false;
    MILLRACE_ASSIGN(const bool data_sent, SendData(outlet));
    if (!data_sent) return false;
    if (next_ == end_) return true;
    NextPacket();
  }
}

constexpr unsigned kReplicators = 2;  // copies at a time, enough to keep a disk busy without slowing down readers
constexpr Micros kReplicationStall = 20 * kSecond;

constexpr std::size_t kMostAllowed = 10'000;

struct Keys {
  NodeId node;
  std::optional<tls::TokenKey> read, write;
};

// The state that the block server shares with its handlers, which belong to the bulk server and may outlive it.
struct HandlerContext {
  HandlerContext(BlockStore& blocks, BlockObserver told, Log to)
      : store(blocks), log(std::move(to)), observer(std::move(told)) {}

  void Received(const StoredBlock& block) {
    const std::lock_guard lock(mutex);
    if (observer.received) observer.received(block);
  }
  void Corrupt(std::uint64_t id, const Status& why) {
    log->error("{}", why.message());
    const std::lock_guard lock(mutex);
    if (observer.corrupt) observer.corrupt(id);
  }
  void UseKeys(BlockKeys told) {
    auto made = std::make_shared<Keys>();
    made->node = told.node;
    if (!told.read.empty()) made->read.emplace(std::move(told.read));
    if (!told.write.empty()) made->write.emplace(std::move(told.write));
    std::shared_ptr<const Keys> now = std::move(made);
    const std::lock_guard lock(mutex);
    keys.swap(now);
  }
  void AllowWrite(std::uint64_t block, std::string token) {
    const std::lock_guard lock(mutex);
    if (!allowed.insert_or_assign(block, std::move(token)).second) return;
    allowed_order.push_back(block);
    if (allowed_order.size() <= kMostAllowed) return;
    allowed.erase(allowed_order.front());
    allowed_order.pop_front();
  }
  Result<std::shared_ptr<const Keys>> KeysOf(const std::string& what) {
    const std::lock_guard lock(mutex);
    if (keys == nullptr) return Unavailable(what + ": this worker has not registered with its master yet");
    return keys;
  }
  // Returns OK if the peer may read the block by this token.
  Status CheckRead(const Wire& wire, std::uint64_t block, const std::string& token) {
    if (wire.threads().credentials == nullptr) return Status::Ok();
    const std::string what = "read " + BlockName(block);
    MILLRACE_ASSIGN(const std::shared_ptr<const Keys> by, KeysOf(what));
    if (!by->read.has_value()) return Unavailable(what + ": this worker's master has given it no token key");
    const std::string subject = wire.local() ? std::string() : tls::SubjectOf(wire.identity());
    return by->read->Check(token, block, subject, SystemClock().Now()).Within(what);
  }
  // Returns true for a writer of protocol level 1 on the local socket, where nobody knows whose block it may write.
  // Such a writer, when refused, comes again by TCP, with its certificate.
  bool MustComeByTcp(const Wire& wire, const WriteRequest& request) {
    const std::lock_guard lock(mutex);
    return wire.local() && request.token.empty() && allowed.contains(request.block);
  }
  // Returns the order by which the peer may write the block; nothing where everybody may.
  Result<std::optional<WriteOrder>> CheckWrite(const Wire& wire, std::uint64_t block, std::string token, bool begins) {
    const std::string what = "write " + BlockName(block);
    MILLRACE_ASSIGN(const std::shared_ptr<const Keys> by, KeysOf(what));
    if (!by->write.has_value()) return std::optional<WriteOrder>();
    if (token.empty() && !wire.local()) {
      const std::lock_guard lock(mutex);
      if (const auto known = allowed.find(block); known != allowed.end()) token = known->second;
    }
    const std::optional<Micros> at = begins ? std::optional(SystemClock().Now()) : std::nullopt;
    Result<WriteOrder> order = CheckWriteToken(*by->write, token, block, {wire.identity(), wire.local(), by->node}, at);
    if (!order.ok()) return order.status().Within(what);
    return std::optional(*std::move(order));
  }
  // Checks that a request to write is what the master has ordered, and nothing else.
  Status CheckWrite(const Wire& wire, WriteRequest* request) {
    MILLRACE_ASSIGN(const std::optional<WriteOrder> order, CheckWrite(wire, request->block, request->token, true));
    if (!order.has_value()) return Status::Ok();
    MILLRACE_ASSIGN(const std::shared_ptr<const Keys> by, KeysOf("write"));
    MILLRACE_TRY(CheckRest(*order, by->node, request->rest).Within("write " + BlockName(request->block)));
    request->node = by->node;
    if (order->copy_of.has_value()) request->expected = order->copy_of;
    return Status::Ok();
  }
  // Opens a block whose descriptor is passed to another process.
  Result<OpenBlock> OpenToPass(std::uint64_t id) {
    MILLRACE_ASSIGN(OpenBlock open, Open(id));
    std::function<Result<Fd>(const Fd&)> by;
    {
      const std::lock_guard lock(mutex);
      by = reopen;
    }
    if (by) {
      MILLRACE_ASSIGN(open.data, by(open.data));
    }
    return open;
  }
  // Opens the block. If its checksums do not fit, it is reported as corrupt.
  Result<OpenBlock> Open(std::uint64_t id) {
    Result<OpenBlock> open = store.Open(id);
    if (!open.ok() && open.status().code() == StatusCode::kCorrupt) Corrupt(id, open.status());
    return open;
  }

  BlockStore& store;
  const Log log;
  ActiveWrites active;
  std::mutex mutex;
  std::shared_ptr<const Keys> keys;  // null before the master has told them
  std::map<std::uint64_t, std::string> allowed;
  std::deque<std::uint64_t> allowed_order;
  std::function<Result<Fd>(const Fd&)> reopen;  // empty: a block's own descriptor is passed
  BlockObserver observer;                       // empty once the block server is gone
};

class Handler : public net::BulkHandler {
 public:
  explicit Handler(std::shared_ptr<HandlerContext> shared) : shared_(std::move(shared)) {}

 protected:
  const std::shared_ptr<HandlerContext> shared_;
};

class WriteHandler final : public Handler {
 public:
  WriteHandler(std::shared_ptr<HandlerContext> shared, DataFrom data_from)
      : Handler(std::move(shared)), data_from_(data_from) {}
  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override {
    Result<WriteRequest> request = DecodeWriteRequest(header);
    Status status = request.status();
    if (status.ok() && shared_->MustComeByTcp(*wire, *request)) co_return false;
    if (status.ok()) status = shared_->CheckWrite(*wire, &*request);
    if (!status.ok()) co_return (co_await wire->WriteFailure(status)).ok();
    auto finished = [shared = shared_](const StoredBlock& block) { shared->Received(block); };
    const auto session = std::make_shared<WriteSession>(shared_->store, shared_->active, std::move(*request),
                                                        data_from_, wire, finished);
    co_return co_await session->Run();
  }

 private:
  const DataFrom data_from_;
};

class ReadHandler final : public Handler {
 public:
  using Handler::Handler;
  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override {
    const Result<ReadRequest> request = DecodeReadRequest(header);
    if (!request.ok()) co_return (co_await wire->WriteFailure(request.status())).ok();
    Status status = shared_->CheckRead(*wire, request->block, request->token);
    if (!status.ok()) co_return (co_await wire->WriteFailure(status)).ok();
    auto open = [this, &request] { return shared_->Open(request->block); };
    Result<OpenBlock> block = co_await OnDisk(wire->threads(), open);
    status = block.status();
    if (block.ok()) status = CheckRange(request->block, block->length, request->offset, request->size);
    if (!status.ok()) co_return (co_await wire->WriteFailure(status)).ok();
    std::string reply = Encode(BlockChunks{block->length, block->chunk_crcs});
    const Status told = co_await wire->WriteReply(std::move(reply));
    if (!told.ok() || request->size == 0) co_return told.ok();
    const auto pump = std::make_shared<PacketPump>(std::move(*block), request->block, request->offset, request->size);
    auto step = [pump](net::Outlet& outlet) { return pump->Step(outlet); };
    status = co_await wire->Pump(step);
    if (status.code() == StatusCode::kCorrupt) shared_->Corrupt(request->block, status);
    co_return status.ok();
  }
};

class FinishAtHandler final : public Handler {
 public:
  using Handler::Handler;
  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override {
    const Result<FinishRequest> request = DecodeFinishRequest(header);
    if (!request.ok()) co_return (co_await wire->WriteFailure(request.status())).ok();
    const Status may = shared_->CheckWrite(*wire, request->block, request->token, false).status();
    if (!may.ok()) co_return (co_await wire->WriteFailure(may)).ok();
    co_await shared_->active.End(request->block);
    auto finish = [this, &request]() -> Result<StoredBlock> {
      if (request->length > 0) return shared_->store.FinishAt(request->block, request->length);
      shared_->store.Discard(request->block);
      return StoredBlock{};
    };
    const Result<StoredBlock> finished = co_await OnDisk(wire->threads(), finish);
    if (!finished.ok()) co_return (co_await wire->WriteFailure(finished.status())).ok();
    if (request->length == 0) co_return (co_await wire->WriteReply({})).ok();
    shared_->Received(*finished);
    std::string reply = EncodeCrc(finished->crc);
    co_return (co_await wire->WriteReply(std::move(reply))).ok();
  }
};

class OpenLocalHandler final : public Handler {
 public:
  using Handler::Handler;
  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override {
    const Result<OpenRequest> request = DecodeOpenRequest(header);
    Status status = request.status();
    if (status.ok()) status = shared_->CheckRead(*wire, request->block, request->token);
    if (!status.ok()) co_return (co_await wire->WriteFailure(status)).ok();
    auto open = [this, &request] { return shared_->OpenToPass(request->block); };
    const Result<OpenBlock> block = co_await OnDisk(wire->threads(), open);
    status = block.status();
    std::string reply;
    if (block.ok()) reply = Encode(BlockChunks{block->length, block->chunk_crcs});
    if (reply.size() > net::kMaxReplyBytes) status = Invalid(BlockName(request->block) + " is too large to be passed");
    if (!status.ok()) co_return (co_await wire->WriteFailure(status)).ok();
    status = co_await wire->WriteReply(std::move(reply));
    if (status.ok()) status = co_await wire->SendDescriptor(block->data.get());
    co_return status.ok();
  }
};

}  // namespace

struct BlockServer::Impl {
  Impl(BlockStore& store, BlockObserver observer, Log log, const net::BulkServer::Threads& of)
      : threads(of),
        shared(std::make_shared<HandlerContext>(store, std::move(observer), std::move(log))),
        replicators(kReplicators) {}

  Status Copy(const StoredBlock& block, const std::vector<ReplicaHost>& targets, const std::string& token);

  const net::BulkServer::Threads& threads;
  std::shared_ptr<HandlerContext> shared;
  std::atomic<bool> stopping{false};
  asio::thread_pool replicators;
};

Status BlockServer::Impl::Copy(const StoredBlock& block, const std::vector<ReplicaHost>& targets,
                               const std::string& token) {
  const std::string what = "replicate " + BlockName(block.id);
  if (targets.empty() || targets.size() > kMaxPipeline) return Invalid(what + ": give 1 to 16 targets");
  const Result<OpenBlock> opened = shared->Open(block.id);
  // Whoever ordered the copy believes that the block is here, and would wait for the copy.
  if (opened.status().code() == StatusCode::kNotFound) shared->Corrupt(block.id, opened.status());
  MILLRACE_TRY(opened.status());
  const OpenBlock& open = *opened;
  if (Status same = CheckContent(block.id, block.content(), open.content()); !same.ok()) {
    shared->Corrupt(block.id, same);
    return same;
  }
  // A copy shows the certificate of a worker, for which a local socket does not ask.
  std::vector<ReplicaHost> places = targets;
  for (ReplicaHost& place : places) place.local_socket.clear();
  std::vector<NodeId> failed;
  auto opened_there =
      BlockWriter::Open(block.id, places, kReplicationStall, &failed, block.content(), threads.credentials, token);
  if (!opened_there.ok() && std::ranges::count(failed, targets.front().node) > 0)
    threads.TellUnreached(targets.front().host, targets.front().port);
  MILLRACE_ASSIGN(const auto writer, std::move(opened_there));
  std::string bytes;
  for (std::uint64_t at = 0; at < open.length; at += bytes.size()) {
    if (stopping) return Cancelled(what + ": this node is stopping");
    bytes.resize(std::min<std::uint64_t>(kPacketBytes, open.length - at));
    const std::uint64_t first = at / kChunkBytes;
    const auto crcs = std::span(open.chunk_crcs).subspan(first, ChunkCount(bytes.size()));
    Status sound = ReadExactlyAt(open.data.get(), bytes.data(), bytes.size(), at, BlockName(block.id));
    if (sound.ok()) sound = CheckChunks(bytes, crcs, block.id, first);
    if (!sound.ok()) {
      shared->Corrupt(block.id, sound);
      return sound;
    }
    MILLRACE_TRY(writer->Write(bytes));
  }
  return writer->Finish().status();
}

BlockServer::BlockServer(net::BulkServer& server, BlockStore& store, BlockObserver observer, Log log)
    : impl_(std::make_unique<Impl>(store, std::move(observer), std::move(log), server.threads())) {
  const auto write = [this](DataFrom data_from) { return std::make_shared<WriteHandler>(impl_->shared, data_from); };
  server.Register(net::Operation::kWriteBlock, write(DataFrom::kPackets));
  server.Register(net::Operation::kWriteLocalBlock, write(DataFrom::kSharedFile));
  server.Register(net::Operation::kReadBlock, std::make_shared<ReadHandler>(impl_->shared));
  server.Register(net::Operation::kFinishBlockAt, std::make_shared<FinishAtHandler>(impl_->shared));
  server.Register(net::Operation::kOpenLocalBlock, std::make_shared<OpenLocalHandler>(impl_->shared));
}

BlockServer::~BlockServer() {
  impl_->stopping = true;
  impl_->replicators.join();
  const std::lock_guard lock(impl_->shared->mutex);
  impl_->shared->observer = {};
}

void BlockServer::UseKeys(BlockKeys keys) { impl_->shared->UseKeys(std::move(keys)); }

void BlockServer::PassBy(std::function<Result<Fd>(const Fd&)> reopen) {
  const std::lock_guard lock(impl_->shared->mutex);
  impl_->shared->reopen = std::move(reopen);
}

void BlockServer::AllowWrite(std::uint64_t block, std::string token) {
  impl_->shared->AllowWrite(block, std::move(token));
}

void BlockServer::Replicate(const StoredBlock& block, std::vector<ReplicaHost> targets, std::string token,
                            std::function<void(const Status&)> done) {
  asio::post(impl_->replicators,
             [impl = impl_.get(), block, to = std::move(targets), by = std::move(token), told = std::move(done)] {
               NameThread("replicate");
               told(impl->stopping ? Cancelled("replicate " + BlockName(block.id) + ": this node is stopping")
                                   : impl->Copy(block, to, by));
             });
}

}  // namespace millrace::dfs
