// SPDX-License-Identifier: Apache-2.0
#include "dfs/data/write_session.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <span>
#include <utility>

#include "base/check.h"
#include "dfs/data/block_checksums.h"

namespace millrace::dfs {

namespace asio = net::asio;
using net::Awaitable;
using net::OnDisk;
using net::Wire;

namespace {

// A writer may pause between two packets for this many idle timeouts (an hour, normally). A task that computes for long
// is not dead, and keepalive finds one that is.
constexpr int kPatience = 60;

constexpr std::size_t kBatchPackets = 4;  // the most that a disk thread gets at once

}  // namespace

WriteSession::WriteSession(BlockStore& store, ActiveWrites& active, WriteRequest request, DataFrom data_from,
                           std::shared_ptr<Wire> upstream, std::function<void(const StoredBlock&)> finished)
    : store_(store),
      active_(active),
      request_(std::move(request)),
      data_from_(data_from),
      upstream_(std::move(upstream)),
      finished_here_(std::move(finished)),
      changed_(upstream_->executor()),
      alive_timer_(upstream_->executor()) {}

// This is shorter than the time that a node has to store something (idle_timeout). So the neighbour of a silent node
// names it before nodes further up can mistake that neighbour for a slow one.
Micros WriteSession::silence() const { return std::min(upstream_->threads().idle_timeout / 2, kSilence); }

Awaitable<bool> WriteSession::Run() {
  auto open = [this] { return OpenHere(); };
  const Status opened = co_await OnDisk(upstream_->threads(), open);
  if (!opened.ok()) {
    const Status told = co_await upstream_->WriteFailure(opened);
    co_return told.ok();
  }
  active_.Add(request_.block, shared_from_this());
  const Status told = co_await AnswerRequest();
  if (!told.ok()) LoseUpstream();
  if (!over() && !request_.rest.empty()) co_await ConnectNext();
  if (!over()) co_await Transfer();
  co_await Close();
  if (failure_ && stage_ == Stage::kOpening)
    (void)co_await SendAck(*failure_);  // a writer that is gone needs no answer
  co_return !over() && stage_ >= Stage::kReceived;
}

Status WriteSession::OpenHere() {
  MILLRACE_ASSIGN(std::unique_ptr<BlockFile> file, store_.Create(request_.block));
  if (shares()) {
    Result<Fd> shared = file->Share();
    if (!shared.ok()) {
      file.reset();
      store_.Discard(request_.block);
      return shared.status();
    }
    shared_ = std::move(*shared);
  }
  file_ = std::move(file);
  return Status::Ok();
}

Awaitable<Status> WriteSession::AnswerRequest() {
  Status told = co_await upstream_->WriteReply({});
  if (told.ok() && shares()) told = co_await upstream_->SendDescriptor(shared_.get());
  shared_.Close();
  co_return told;
}

// A block without a byte is of no use. It is discarded before the writer learns of the failure, since the writer may
// come again with the same block.
Awaitable<void> WriteSession::Close() {
  if (next_ != nullptr && (over() || !next_crc_)) next_->Abort();
  auto release = [this] {
    const bool empty = file_->length() == 0 && stage_ != Stage::kFinished;
    file_.reset();
    active_.Remove(request_.block);
    if (empty) store_.Discard(request_.block);
    return true;
  };
  co_await OnDisk(upstream_->threads(), release);
}

Awaitable<void> WriteSession::ConnectNext() {
  const ReplicaHost& place = request_.rest.front();
  net::BulkServer::Threads& threads = upstream_->threads();
  Result<std::shared_ptr<Wire>> next = co_await Wire::Connect(threads, place.host, place.port, silence());
  if (!next.ok()) {
    FailNext(next.status());
    co_return;
  }
  next_ = std::move(*next);
  if (upstream_end_ == Upstream::kAborted) next_->Abort();
  WriteRequest onward{request_.block, place.node, {}, request_.expected, request_.token};
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
  const Micros standing = StandingLimit(request_.rest.size() - 1, silence());
  const Result<net::Frame> frame = co_await next_->ReadReply(&payload, standing);
  if (!frame.ok()) {
    FailNext(frame.status());
    co_return;
  }
  const Result<Ack> ack = DecodeAck(static_cast<StatusCode>(frame->kind), payload);
  if (!ack.ok()) FailNext(ack.status());
  if (ack.ok() && !ack->failure.ok()) Fail(ack->failure, ack->failed_nodes);
}

Awaitable<void> WriteSession::Transfer() {
  Advance(Stage::kReceiving);
  const Status told = co_await SendAck(Ack());
  if (!told.ok()) co_return LoseUpstream();
  Start(Store());
  Start(SendAcks());
  Start(KeepAlive());
  if (next_ != nullptr) Start(ReadAcks());
  if (next_ != nullptr && shares()) Start(ReadShared());
  co_await Receive();
  changed_.Notify();
  while (children_ > 0) co_await changed_.Wait();
}

void WriteSession::Start(Awaitable<void> child) {
  // The session outlives its children, since Transfer waits for them. After the server's Stop no child is started, and
  // all wires are aborted.
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
    LoseUpstream();
  }
}

// ---- from upstream to the next node ----

// After a failure packets are still received, and dropped. If the connection were closed while the writer sends, it
// would be reset before the writer has read the reason.
Awaitable<void> WriteSession::Receive() {
  while (stage_ < Stage::kReceived) {
    Incoming incoming;
    const Status status = co_await ReceivePacket(&incoming);
    if (!status.ok()) {
      LoseUpstream();
      if (next_ != nullptr) next_->Abort();
      co_return;
    }
    if (incoming.packet.last) Advance(Stage::kReceived);
    if (failure_) continue;
    co_await Accept(std::move(incoming));
    while (arrived_.size() + queue_.size() >= kWindowPackets && !failure_) co_await changed_.Wait();
  }
}

Awaitable<Status> WriteSession::ReceivePacket(Incoming* incoming) {
  std::string header(kPacketHeaderBytes, '\0');
  const Micros patience = kPatience * upstream_->threads().idle_timeout;
  Status status = co_await upstream_->Read(header.data(), header.size(), patience);
  if (!status.ok()) co_return status;
  const Result<Packet> packet = DecodePacket(header);
  if (!packet.ok()) co_return packet.status();
  if (!failure_ && packet->offset != received_) co_return Corrupt("a packet out of order");
  incoming->packet = *packet;
  if (shares()) co_return Status::Ok();
  incoming->data = Buffer();
  co_return co_await upstream_->Read(incoming->data.get(), packet->length);
}

Awaitable<void> WriteSession::Accept(Incoming incoming) {
  if (!shares()) {
    const Status sound =
        CheckChunks(incoming.bytes(), incoming.crcs(), request_.block, incoming.packet.offset / kChunkBytes);
    if (!sound.ok()) {
      Fail(sound.Within("from " + upstream_->peer()), {request_.node});
      co_return;
    }
  }
  received_ += incoming.packet.length;
  if (shares() && next_ != nullptr) {
    arrived_.push_back(std::move(incoming));
    changed_.Notify();
  } else {
    co_await Forward(std::move(incoming));
  }
}

// A packet is forwarded before it is stored. Once forwarded it is also stored, even if the write fails meanwhile.
// BlockWriter relies on both when it salvages a block.
Awaitable<void> WriteSession::Forward(Incoming incoming) {
  forwarded_ += incoming.packet.length;
  if (incoming.packet.last) Advance(Stage::kForwarded);
  if (next_ != nullptr) {
    forwarding_ = true;
    const std::string header = EncodePacket(incoming.packet);
    const Status status = co_await next_->Write(header, incoming.bytes());
    forwarding_ = false;
    if (!status.ok()) FailNext(status);
  }
  queue_.push_back(std::move(incoming));
  changed_.Notify();
}

Awaitable<void> WriteSession::ReadShared() {
  while (stage_ < Stage::kForwarded) {
    while (arrived_.empty() && !over()) co_await changed_.Wait();
    if (over()) co_return;
    std::vector<Incoming> batch = TakeBatch(arrived_);
    for (Incoming& incoming : batch) incoming.data = Buffer();
    auto read = [this, &batch] { return ReadSharedBatch(batch); };
    const Status status = co_await OnDisk(upstream_->threads(), read);
    if (!status.ok()) {
      FailHere(status);
      co_return;
    }
    for (Incoming& incoming : batch) {
      if (over()) co_return;
      co_await Forward(std::move(incoming));
    }
  }
}

Status WriteSession::ReadSharedBatch(std::vector<Incoming>& batch) {
  for (Incoming& incoming : batch) {
    const Packet& packet = incoming.packet;
    MILLRACE_TRY(file_->ReadShared(packet.offset, packet.length, incoming.crcs(), incoming.data.get()));
  }
  return Status::Ok();
}

std::unique_ptr<char[]> WriteSession::Buffer() {
  if (spare_.empty()) return std::unique_ptr<char[]>(new char[kPacketBytes]);
  std::unique_ptr<char[]> buffer = std::move(spare_.back());
  spare_.pop_back();
  return buffer;
}

// ---- to the disk, and acknowledgements back ----

std::vector<WriteSession::Incoming> WriteSession::TakeBatch(std::deque<Incoming>& from) const {
  std::vector<Incoming> batch;
  while (!from.empty() && batch.size() < kBatchPackets) {
    batch.push_back(std::move(from.front()));
    from.pop_front();
  }
  return batch;
}

Status WriteSession::StoreBatch(const std::vector<Incoming>& batch) {
  for (const Incoming& incoming : batch) {
    MILLRACE_TRY(shares() ? StoreShared(incoming) : file_->Append(incoming.bytes(), incoming.crcs()));
    if (incoming.packet.last) MILLRACE_TRY(file_->Sync());
  }
  return Status::Ok();
}

// All packets use one buffer, which stays in the processor's cache.
Status WriteSession::StoreShared(const Incoming& incoming) {
  const std::vector<std::uint32_t> crcs = incoming.crcs();
  if (incoming.data != nullptr) return file_->Adopt(incoming.bytes(), crcs);
  if (scratch_ == nullptr) scratch_.reset(new char[kPacketBytes]);
  const Packet& packet = incoming.packet;
  MILLRACE_TRY(file_->ReadShared(packet.offset, packet.length, crcs, scratch_.get()));
  return file_->Adopt({scratch_.get(), packet.length}, crcs);
}

Awaitable<void> WriteSession::Store() {
  while (stage_ < Stage::kStored) {
    while (queue_.empty() && (!over() || forwarding_)) co_await changed_.Wait();
    if (queue_.empty()) co_return;
    std::vector<Incoming> batch = TakeBatch(queue_);
    auto store = [this, &batch] { return StoreBatch(batch); };
    const Status status = co_await OnDisk(upstream_->threads(), store);
    if (!status.ok()) {
      FailHere(status);
      co_return;
    }
    for (Incoming& incoming : batch) {
      stored_ += incoming.packet.length;
      if (incoming.packet.last) Advance(Stage::kStored);
      if (incoming.data != nullptr) spare_.push_back(std::move(incoming.data));
    }
    changed_.Notify();
  }
  co_await FinishHere();
}

// The block is finished on the last node first and on the first node last, so a node that has finished never stands
// before one that lacks bytes. BlockWriter relies on that when it salvages a block. A block is not finished if it
// differs from what the rest of the pipeline has, or from what a copy is to be.
Awaitable<void> WriteSession::FinishHere() {
  while (next_ != nullptr && !next_crc_ && !over()) co_await changed_.Wait();
  if (over()) co_return;
  const BlockContent here{file_->length(), file_->crc()};
  if (next_ != nullptr) {
    const Status same = CheckContent(request_.block, here, {next_acked_, *next_crc_});
    if (!same.ok()) co_return FailNext(same.Within(next_->peer()));
  }
  if (request_.expected.has_value()) {
    const Status same = CheckContent(request_.block, *request_.expected, here);
    if (!same.ok()) co_return FailHere(same);
  }
  auto finish = [this] { return file_->Finish(); };
  const Status status = co_await OnDisk(upstream_->threads(), finish);
  if (!status.ok()) {
    FailHere(status);
    co_return;
  }
  Advance(Stage::kFinished);
  finished_here_({request_.block, here.length, here.crc});
  changed_.Notify();
}

// The next node may be slow for as long as a peer may be idle, but it must not be silent for that long.
Awaitable<void> WriteSession::ReadAcks() {
  using SteadyClock = std::chrono::steady_clock;
  SteadyClock::time_point got_on = SteadyClock::now();
  while (!next_crc_) {
    // The next node owes an answer only while there are bytes that it has not acknowledged.
    while (forwarded_ == next_acked_ && stage_ < Stage::kForwarded && !over()) {
      co_await changed_.Wait();
      got_on = SteadyClock::now();
    }
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
    } else if (ack->length < next_acked_ || ack->length > forwarded_ || (ack->finished && stage_ < Stage::kForwarded)) {
      FailNext(Corrupt(next_->peer() + ": acknowledges bytes that it was not sent"));
    } else if (ack->length > next_acked_ || ack->finished) {
      got_on = SteadyClock::now();
      next_acked_ = ack->length;
      if (ack->finished) next_crc_ = ack->crc;
      changed_.Notify();
    } else if (SteadyClock::now() - got_on > std::chrono::microseconds(upstream_->threads().idle_timeout)) {
      FailNext(Timeout(next_->peer() + ": stores nothing"));
    }
  }
}

Awaitable<void> WriteSession::KeepAlive() {
  const auto every = std::chrono::microseconds(std::min(kAliveEvery, silence() / 4));
  while (alive_ != Alive::kEnded) {
    alive_timer_.expires_after(every);
    boost::system::error_code ended;
    co_await alive_timer_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    if (alive_ != Alive::kEnded) alive_ = Alive::kDue;
    changed_.Notify();
  }
}

Awaitable<void> WriteSession::SendAcks() {
  struct Ended {
    WriteSession& session;
    ~Ended() {
      session.alive_ = Alive::kEnded;
      session.alive_timer_.cancel();
    }
  };
  const Ended at_end{*this};
  Ack sent;
  while (!sent.finished) {
    Ack ack;
    ack.length = next_ == nullptr ? stored_ : std::min(stored_, next_acked_);
    ack.finished = stage_ == Stage::kFinished;
    if (ack.finished) ack.crc = file_->crc();
    if (upstream_end_ == Upstream::kGone) co_return;
    if (failure_) {
      (void)co_await SendAck(*failure_);  // a writer that is gone needs no answer
      co_return;
    }
    const bool owing = received_ > sent.length || stage_ >= Stage::kReceived;
    const bool due = alive_ == Alive::kDue;
    if (due) alive_ = Alive::kNotDue;
    const bool alive = due && owing;
    if (ack.length == sent.length && ack.finished == sent.finished && !alive) {
      co_await changed_.Wait();
      continue;
    }
    const Status told = co_await SendAck(ack);
    if (!told.ok()) co_return;  // Receive will notice it as well
    sent = ack;
  }
}

Awaitable<Status> WriteSession::SendAck(Ack ack) {
  const std::string payload = EncodeAck(ack);
  const std::string bytes = net::EncodeReply(ack.failure.code(), payload);
  co_return co_await upstream_->Write(bytes);
}

// ---- what became of the session ----

void WriteSession::Advance(Stage next) {
  MILLRACE_CHECK(static_cast<int>(next) == static_cast<int>(stage_) + 1,
                 "a write takes one stage after the other: " + std::to_string(static_cast<int>(stage_)) + ", " +
                     std::to_string(static_cast<int>(next)));
  stage_ = next;
}

void WriteSession::LoseUpstream() { upstream_end_ = Upstream::kGone; }

void WriteSession::Fail(Status why, std::vector<NodeId> nodes) {
  if (failure_) return;
  failure_.emplace();
  failure_->failure = std::move(why);
  failure_->failed_nodes = std::move(nodes);
  if (next_ != nullptr) next_->Abort();
  changed_.Notify();
}

// A connection that was cancelled on this side means that this node is stopping. The next node is not to blame.
void WriteSession::FailNext(const Status& why) {
  if (why.code() == StatusCode::kCancelled) return FailHere(why);
  Fail(why, {request_.rest.front().node});
}

void WriteSession::FailHere(const Status& why) {
  Fail(why.Within("node " + std::to_string(request_.node.value)), {request_.node});
}

void WriteSession::Abort() {
  asio::post(upstream_->executor(), [self = shared_from_this()] {
    if (self->upstream_end_ == Upstream::kThere) self->upstream_end_ = Upstream::kAborted;
    self->upstream_->Abort();
    if (self->next_ != nullptr) self->next_->Abort();
  });
}

namespace asio = boost::asio;
using net::Awaitable;

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
