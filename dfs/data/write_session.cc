#include "dfs/data/write_session.h"

#include <algorithm>
#include <utility>

#include "dfs/data/active_writes.h"

namespace millrace::dfs {

namespace asio = boost::asio;
using net::Awaitable;
using net::OnDisk;
using net::Wire;

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

// Shorter than what a node has to store something (idle_timeout), so that the silent node is named by its neighbour
// before those further up can take that neighbour for a slow one.
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
  upstream_gone_ = !told.ok();
  if (!over() && !request_.rest.empty()) co_await ConnectNext();
  if (!over()) co_await Transfer();
  co_await Close();
  if (failed_ && !begun_) (void)co_await SendAck(failure_);  // a writer that is gone needs no answer
  co_return !over() && received_last_;
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
  Result<std::shared_ptr<Wire>> next = co_await Wire::Connect(threads, place.host, place.port, silence());
  if (!next.ok()) {
    FailNext(next.status());
    co_return;
  }
  next_ = std::move(*next);
  if (aborted_) next_->Abort();
  WriteRequest onward{request_.block, place.node, {}, request_.expected};
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
  begun_ = true;
  const Status told = co_await SendAck(Ack());
  upstream_gone_ = !told.ok();
  if (upstream_gone_) co_return;
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

}  // namespace millrace::dfs
