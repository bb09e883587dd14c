// WriteSession: to the disk, and acknowledgements on their way back.
#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <chrono>
#include <utility>

#include "dfs/data/write_session.h"

namespace millrace::dfs {

using net::Awaitable;
using net::OnDisk;
namespace asio = net::asio;

namespace {

constexpr std::size_t kBatchPackets = 4;  // to a disk thread at once

}  // namespace

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

// One buffer for all packets: it stays in the processor's cache.
Status WriteSession::StoreShared(const Incoming& incoming) {
  const std::vector<std::uint32_t> crcs = incoming.crcs();
  if (incoming.data != nullptr) return file_->Adopt(incoming.bytes(), crcs);
  if (scratch_ == nullptr) scratch_.reset(new char[kPacketBytes]);
  const Packet& packet = incoming.packet;
  MILLRACE_TRY(file_->ReadShared(packet.offset, packet.length, crcs, scratch_.get()));
  return file_->Adopt({scratch_.get(), packet.length}, crcs);
}

Awaitable<void> WriteSession::Store() {
  while (!stored_last_) {
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
      stored_last_ = incoming.packet.last;
      if (incoming.data != nullptr) spare_.push_back(std::move(incoming.data));
    }
    changed_.Notify();
  }
  co_await FinishHere();
}

// From the last node to the first, so that nodes with a finished block never stand before one that lacks bytes:
// BlockWriter relies on it when it salvages. Nothing is finished that differs from what the rest of the pipeline has,
// or from what a copy is to be.
Awaitable<void> WriteSession::FinishHere() {
  while (next_ != nullptr && !next_finished_ && !over()) co_await changed_.Wait();
  if (over()) co_return;
  const BlockContent here{file_->length(), file_->crc()};
  if (next_ != nullptr) {
    const Status same = CheckContent(request_.block, here, {next_acked_, next_crc_});
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
  finished_ = true;
  finished_here_({request_.block, here.length, here.crc});
  changed_.Notify();
}

// The next node may be slow for as long as a peer may be idle; silent it may not be.
Awaitable<void> WriteSession::ReadAcks() {
  using SteadyClock = std::chrono::steady_clock;
  SteadyClock::time_point got_on = SteadyClock::now();
  while (!next_finished_) {
    // The next node owes an answer only while it has something that it did not acknowledge.
    while (forwarded_ == next_acked_ && !forwarded_last_ && !over()) {
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
    } else if (ack->length < next_acked_ || ack->length > forwarded_ || (ack->finished && !forwarded_last_)) {
      FailNext(Corrupt(next_->peer() + ": acknowledges what it was not sent"));
    } else if (ack->length > next_acked_ || ack->finished) {
      got_on = SteadyClock::now();
      next_acked_ = ack->length;
      next_finished_ = ack->finished;
      next_crc_ = ack->crc;
      changed_.Notify();
    } else if (SteadyClock::now() - got_on > std::chrono::microseconds(upstream_->threads().idle_timeout)) {
      FailNext(Timeout(next_->peer() + ": stores nothing"));
    }
  }
}

Awaitable<void> WriteSession::KeepAlive() {
  const auto every = std::chrono::microseconds(std::min(kAliveEvery, silence() / 4));
  while (!acks_ended_) {
    alive_timer_.expires_after(every);
    boost::system::error_code ended;
    co_await alive_timer_.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    alive_due_ = true;
    changed_.Notify();
  }
}

Awaitable<void> WriteSession::SendAcks() {
  struct Ended {
    WriteSession& session;
    ~Ended() {
      session.acks_ended_ = true;
      session.alive_timer_.cancel();
    }
  };
  const Ended at_end{*this};
  Ack sent;
  while (!sent.finished) {
    Ack ack;
    ack.length = next_ == nullptr ? stored_ : std::min(stored_, next_acked_);
    ack.finished = finished_;
    if (finished_) ack.crc = file_->crc();
    if (upstream_gone_) co_return;
    if (failed_) {
      (void)co_await SendAck(failure_);  // a writer that is gone needs no answer
      co_return;
    }
    const bool owing = received_ > sent.length || received_last_;
    const bool alive = std::exchange(alive_due_, false) && owing;
    if (ack.length == sent.length && ack.finished == sent.finished && !alive) {
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

}  // namespace millrace::dfs
