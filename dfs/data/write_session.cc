#include "dfs/data/write_session.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <span>
#include <utility>

#include "dfs/data/block_checksums.h"

namespace millrace::dfs {

namespace asio = boost::asio;
using net::Awaitable;
using net::OnDisk;
using net::Wire;

namespace {

// A writer may think between two packets for so many times the idle timeout (an hour, normally): a task that computes
// for long is no dead peer, and one that died is noticed by keepalive.
constexpr int kPatience = 60;
constexpr std::size_t kBatchPackets = 4;  // to the disk at once

}  // namespace

WriteSession::WriteSession(BlockStore& store, ActiveWrites& active, WriteRequest request,
                           std::shared_ptr<Wire> upstream, std::function<void(const StoredBlock&)> finished)
    : store_(store),
      active_(active),
      request_(std::move(request)),
      upstream_(std::move(upstream)),
      finished_here_(std::move(finished)),
      changed_(upstream_->executor()) {}

Awaitable<bool> WriteSession::Run() {
  auto create = [this] { return store_.Create(request_.block); };
  Result<std::unique_ptr<BlockFile>> file = co_await OnDisk(upstream_->threads(), create);
  if (!file.ok()) {
    const Status told = co_await upstream_->WriteFailure(file.status());
    co_return told.ok();
  }
  file_ = std::move(*file);
  active_.Add(request_.block, shared_from_this());
  const Status told = co_await upstream_->WriteReply({});
  upstream_gone_ = !told.ok();
  if (!over() && !request_.rest.empty()) co_await ConnectNext();
  if (!over()) co_await Transfer();
  co_await Close();
  if (failed_ && !begun_) co_await SendAck(failure_);
  co_return !over() && received_last_;
}

// What is left of a write that never had a byte is of use to nobody, and the writer may come again with the same block:
// so it goes before the writer hears of the failure.
Awaitable<void> WriteSession::Close() {
  if (next_ != nullptr && (over() || !next_finished_)) next_->Abort();
  auto release = [this] {
    const bool empty = file_->length() == 0 && !finished_;
    file_.reset();
    active_.Remove(request_.block);
    if (empty) store_.Discard(request_.block);
    return true;
  };
  co_await OnDisk(upstream_->threads(), release);
}

Awaitable<void> WriteSession::ConnectNext() {
  const Place& place = request_.rest.front();
  net::BulkServer::Threads& threads = upstream_->threads();
  Result<std::shared_ptr<Wire>> next = co_await Wire::Connect(threads, place.host, place.port, threads.idle_timeout);
  if (!next.ok()) {
    FailNext(next.status());
    co_return;
  }
  next_ = std::move(*next);
  if (aborted_) next_->Abort();
  WriteRequest onward{request_.block, place.node, {}};
  onward.rest.assign(request_.rest.begin() + 1, request_.rest.end());
  const std::string request = EncodeRequest(net::Operation::kWriteBlock, Encode(onward));
  Status status = co_await next_->Write(request);
  std::string payload;
  if (status.ok()) {
    const Result<net::Frame> reply = co_await next_->ReadReply(&payload);
    status = reply.ok() ? ReplyStatus(*reply, payload, next_->peer()) : reply.status();
  }
  if (!status.ok()) {
    FailNext(status);
    co_return;
  }
  const Result<net::Frame> frame = co_await next_->ReadReply(&payload);
  if (!frame.ok()) {
    FailNext(frame.status());
    co_return;
  }
  const Result<Ack> ack = DecodeAck(static_cast<StatusCode>(frame->kind), payload);
  if (!ack.ok()) FailNext(ack.status());
  if (ack.ok() && !ack->failure.ok()) Fail(ack->failure, ack->failed_nodes);
}

Awaitable<void> WriteSession::Transfer() {
  begun_ = true;
  const Status told = co_await SendAck(Ack());
  upstream_gone_ = !told.ok();
  if (upstream_gone_) co_return;
  Start(Store());
  Start(SendAcks());
  if (next_ != nullptr) Start(ReadAcks());
  co_await Receive();
  changed_.Notify();
  while (children_ > 0) co_await changed_.Wait();
}

void WriteSession::Start(Awaitable<void> child) {
  // The session outlives its children: Transfer waits for them. After Stop none are started, and all wires are aborted.
  auto run = [](WriteSession& self, Awaitable<void> work) -> Awaitable<void> {
    struct Leave {
      WriteSession& session;
      ~Leave() {
        --session.children_;
        session.changed_.Notify();
      }
    };
    const Leave leave{self};
    co_await std::move(work);
  };
  ++children_;
  if (!upstream_->threads().Spawn(upstream_->executor(), run(*this, std::move(child)))) {
    --children_;
    upstream_gone_ = true;
  }
}

void WriteSession::Fail(Status why, std::vector<std::uint32_t> nodes) {
  if (failed_) return;
  failed_ = true;
  failure_.failure = std::move(why);
  failure_.failed_nodes = std::move(nodes);
  if (next_ != nullptr) next_->Abort();
  changed_.Notify();
}

// A connection that was given up here means that this node is stopping; the next one is innocent.
void WriteSession::FailNext(const Status& why) {
  if (why.code() == StatusCode::kCancelled) return FailHere(why);
  Fail(why, {request_.rest.front().node});
}

void WriteSession::FailHere(const Status& why) {
  Fail(why.Within("node " + std::to_string(request_.node)), {request_.node});
}

void WriteSession::Abort() {
  asio::post(upstream_->executor(), [self = shared_from_this()] {
    self->aborted_ = true;
    self->upstream_->Abort();
    if (self->next_ != nullptr) self->next_->Abort();
  });
}

// After a failure packets are still taken, and dropped: closing on a writer that sends would reset the connection
// before it has read why.
Awaitable<void> WriteSession::Receive() {
  while (!received_last_) {
    Incoming incoming;
    std::string header;
    Status status = co_await ReceivePacket(&incoming, &header);
    if (!status.ok()) {
      upstream_gone_ = true;
      if (next_ != nullptr) next_->Abort();
      co_return;
    }
    received_last_ = incoming.packet.last;
    if (failed_) continue;
    const std::span crcs(incoming.packet.crcs);
    status =
        CheckChunks(incoming.bytes(), crcs.first(incoming.packet.chunks()), request_.block, received_ / kChunkBytes);
    if (!status.ok()) {
      Fail(status.Within("from " + upstream_->peer()), {request_.node});
      continue;
    }
    received_ += incoming.packet.length;
    const std::string_view bytes = incoming.bytes();
    if (next_ != nullptr) {
      status = co_await next_->Write(header, bytes);
      if (!status.ok()) FailNext(status);
    }
    queue_.push_back(std::move(incoming));
    changed_.Notify();
    while (queue_.size() >= kWindowPackets && !failed_) co_await changed_.Wait();
  }
}

Awaitable<Status> WriteSession::ReceivePacket(Incoming* incoming, std::string* header) {
  header->resize(kPacketHeaderBytes);
  const Micros patience = kPatience * upstream_->threads().idle_timeout;
  Status status = co_await upstream_->Read(header->data(), header->size(), patience);
  if (!status.ok()) co_return status;
  const Result<Packet> packet = DecodePacket(*header);
  if (!packet.ok()) co_return packet.status();
  if (!failed_ && packet->offset != received_) co_return Corrupt("a packet out of order");
  incoming->packet = *packet;
  if (spare_.empty()) {
    incoming->data.reset(new char[kPacketBytes]);
  } else {
    incoming->data = std::move(spare_.back());
    spare_.pop_back();
  }
  co_return co_await upstream_->Read(incoming->data.get(), packet->length);
}

Status WriteSession::StoreBatch(const std::vector<Incoming>& batch) {
  for (const Incoming& incoming : batch) {
    const auto& crcs = incoming.packet.crcs;
    const std::vector<std::uint32_t> of_data(crcs.begin(),
                                             crcs.begin() + static_cast<std::ptrdiff_t>(incoming.packet.chunks()));
    MILLRACE_TRY(file_->Append(incoming.bytes(), of_data));
    if (incoming.packet.last) MILLRACE_TRY(file_->Sync());
  }
  return Status::Ok();
}

Awaitable<void> WriteSession::Store() {
  while (!stored_last_) {
    while (queue_.empty() && !over()) co_await changed_.Wait();
    if (queue_.empty()) co_return;
    std::vector<Incoming> batch;
    while (!queue_.empty() && batch.size() < kBatchPackets) {
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    auto store = [this, &batch] { return StoreBatch(batch); };
    const Status status = co_await OnDisk(upstream_->threads(), store);
    if (!status.ok()) {
      FailHere(status);
      co_return;
    }
    for (Incoming& incoming : batch) {
      stored_ += incoming.packet.length;
      stored_last_ = incoming.packet.last;
      spare_.push_back(std::move(incoming.data));
    }
    changed_.Notify();
  }
  co_await FinishHere();
}

// From the last node to the first, so that nodes with a finished block never stand before one that lacks bytes:
// BlockWriter relies on it when it salvages.
Awaitable<void> WriteSession::FinishHere() {
  while (next_ != nullptr && !next_finished_ && !over()) co_await changed_.Wait();
  if (over()) co_return;
  auto finish = [this] { return file_->Finish(); };
  const Status status = co_await OnDisk(upstream_->threads(), finish);
  if (!status.ok()) {
    FailHere(status);
    co_return;
  }
  finished_ = true;
  finished_here_({request_.block, stored_});
  changed_.Notify();
}

Awaitable<void> WriteSession::ReadAcks() {
  while (!next_finished_) {
    // The next node owes an answer only while it has something that it did not acknowledge.
    while (received_ == next_acked_ && !received_last_ && !over()) co_await changed_.Wait();
    if (over()) co_return;
    std::string payload;
    const Result<net::Frame> frame = co_await next_->ReadReply(&payload);
    if (!frame.ok()) {
      FailNext(frame.status());
      co_return;
    }
    const Result<Ack> ack = DecodeAck(static_cast<StatusCode>(frame->kind), payload);
    if (!ack.ok()) {
      FailNext(ack.status());
    } else if (!ack->failure.ok()) {
      Fail(ack->failure, ack->failed_nodes);
    } else if (ack->length < next_acked_ || ack->length > received_ || (ack->finished && !received_last_)) {
      FailNext(Corrupt(next_->peer() + ": acknowledges what it was not sent"));
    } else {
      next_acked_ = ack->length;
      next_finished_ = ack->finished;
      changed_.Notify();
    }
  }
}

Awaitable<void> WriteSession::SendAcks() {
  Ack sent;
  while (!sent.finished) {
    Ack ack;
    ack.length = next_ == nullptr ? stored_ : std::min(stored_, next_acked_);
    ack.finished = finished_;
    if (upstream_gone_) co_return;
    if (failed_) {
      co_await SendAck(failure_);
      co_return;
    }
    if (ack.length == sent.length && ack.finished == sent.finished) {
      co_await changed_.Wait();
      continue;
    }
    const Status told = co_await SendAck(ack);
    if (!told.ok()) co_return;  // Receive will notice, too
    sent = ack;
  }
}

Awaitable<Status> WriteSession::SendAck(Ack ack) {
  const std::string payload = EncodeAck(ack);
  const std::string bytes = net::EncodeReply(ack.failure.code(), payload);
  co_return co_await upstream_->Write(bytes);
}

void ActiveWrites::Add(std::uint64_t block, const std::shared_ptr<WriteSession>& session) {
  const std::lock_guard lock(mutex_);
  entries_[block].session = session;
}

void ActiveWrites::Remove(std::uint64_t block) {
  std::vector<std::function<void()>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting = std::move(entries_[block].waiting);
    entries_.erase(block);
  }
  for (const auto& wake : waiting) wake();
}

Awaitable<void> ActiveWrites::End(std::uint64_t block) {
  const net::Executor executor = co_await asio::this_coro::executor;
  const auto timer = std::make_shared<asio::steady_timer>(executor, asio::steady_timer::time_point::max());
  std::shared_ptr<WriteSession> session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(block);
    if (found == entries_.end()) co_return;
    session = found->second.session.lock();
    found->second.waiting.push_back([timer, executor] { asio::post(executor, [timer] { timer->cancel(); }); });
  }
  if (session != nullptr) session->Abort();
  boost::system::error_code ignored;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace millrace::dfs
