#include "dfs/data/block_server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <mutex>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/net/bulk_handler.h"
#include "base/thread_name.h"
#include "base/tls/token.h"
#include "dfs/client/block_writer.h"
#include "dfs/data/active_writes.h"
#include "dfs/data/block_checksums.h"
#include "dfs/data/packet_pump.h"
#include "dfs/data/write_session.h"

namespace millrace::dfs {

namespace asio = boost::asio;
using net::Awaitable;
using net::OnDisk;
using net::Wire;

namespace {

constexpr unsigned kReplicators = 2;  // copies at a time, enough to keep a disk busy without slowing down readers
constexpr Micros kReplicationStall = 20 * kSecond;

// What the block server shares with its handlers, which belong to the bulk server and may outlive it.
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
  void UseTokenKey(std::string bytes) {
    auto made = std::make_shared<const tls::TokenKey>(std::move(bytes));
    const std::lock_guard lock(mutex);
    key.swap(made);
  }
  // Returns OK if whoever is at the other end may read the block by this token.
  Status CheckToken(const Wire& wire, std::uint64_t block, const std::string& token) {
    if (wire.threads().credentials == nullptr) return Status::Ok();
    std::shared_ptr<const tls::TokenKey> with;
    {
      const std::lock_guard lock(mutex);
      with = key;
    }
    const std::string what = "read " + BlockName(block);
    if (with == nullptr) return Unavailable(what + ": this worker has not registered with its master yet");
    const std::string subject = wire.local() ? std::string() : tls::SubjectOf(wire.identity());
    return with->Check(token, block, subject, SystemClock().Now()).Within(what);
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
  std::shared_ptr<const tls::TokenKey> key;  // null before the master has told it
  BlockObserver observer;                    // empty once the block server is gone
};

class Handler : public net::BulkHandler {
 public:
  explicit Handler(std::shared_ptr<HandlerContext> shared) : shared_(std::move(shared)) {}

 protected:
  const std::shared_ptr<HandlerContext> shared_;
};

Status CheckLocal(const Wire& wire) {
  return wire.local() ? Status::Ok() : Invalid("descriptors are passed on the local socket only");
}

class WriteHandler final : public Handler {
 public:
  WriteHandler(std::shared_ptr<HandlerContext> shared, DataFrom data_from)
      : Handler(std::move(shared)), data_from_(data_from) {}
  Awaitable<bool> Serve(std::shared_ptr<Wire> wire, std::string header) override {
    Result<WriteRequest> request = DecodeWriteRequest(header);
    Status status = request.status();
    if (status.ok() && data_from_ == DataFrom::kSharedFile) status = CheckLocal(*wire);
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
    Status status = shared_->CheckToken(*wire, request->block, request->token);
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
    if (status.ok()) status = CheckLocal(*wire);
    if (status.ok()) status = shared_->CheckToken(*wire, request->block, request->token);
    if (!status.ok()) co_return (co_await wire->WriteFailure(status)).ok();
    auto open = [this, &request] { return shared_->Open(request->block); };
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
  Impl(BlockStore& store, BlockObserver observer, Log log, std::shared_ptr<tls::Credentials> ours)
      : credentials(std::move(ours)),
        shared(std::make_shared<HandlerContext>(store, std::move(observer), std::move(log))),
        replicators(kReplicators) {}

  Status Copy(const StoredBlock& block, const std::vector<ReplicaHost>& targets);

  const std::shared_ptr<tls::Credentials> credentials;
  std::shared_ptr<HandlerContext> shared;
  std::atomic<bool> stopping{false};
  asio::thread_pool replicators;
};

Status BlockServer::Impl::Copy(const StoredBlock& block, const std::vector<ReplicaHost>& targets) {
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
  std::vector<NodeId> failed;
  MILLRACE_ASSIGN(const auto writer,
                  BlockWriter::Open(block.id, targets, kReplicationStall, &failed, block.content(), credentials));
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
    : impl_(std::make_unique<Impl>(store, std::move(observer), std::move(log), server.threads().credentials)) {
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

void BlockServer::UseTokenKey(std::string key) { impl_->shared->UseTokenKey(std::move(key)); }

void BlockServer::Replicate(const StoredBlock& block, std::vector<ReplicaHost> targets,
                            std::function<void(const Status&)> done) {
  asio::post(impl_->replicators, [impl = impl_.get(), block, to = std::move(targets), told = std::move(done)] {
    NameThread("replicate");
    told(impl->stopping ? Cancelled("replicate " + BlockName(block.id) + ": this node is stopping")
                        : impl->Copy(block, to));
  });
}

}  // namespace millrace::dfs
