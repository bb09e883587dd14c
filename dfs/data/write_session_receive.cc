// WriteSession: from upstream to the next node.
#include <span>
#include <utility>

#include "dfs/data/block_checksums.h"
#include "dfs/data/write_session.h"

namespace millrace::dfs {

using net::Awaitable;
using net::OnDisk;

namespace {

// A writer may think between two packets for so many times the idle timeout (an hour, normally): a task that computes
// for long is no dead peer, and one that died is noticed by keepalive.
constexpr int kPatience = 60;

}  // namespace

// After a failure packets are still taken, and dropped: closing on a writer that sends would reset the connection
// before it has read why.
Awaitable<void> WriteSession::Receive() {
  while (!received_last_) {
    Incoming incoming;
    const Status status = co_await ReceivePacket(&incoming);
    if (!status.ok()) {
      upstream_gone_ = true;
      if (next_ != nullptr) next_->Abort();
      co_return;
    }
    received_last_ = incoming.packet.last;
    if (failed_) continue;
    co_await Take(std::move(incoming));
    while (arrived_.size() + queue_.size() >= kWindowPackets && !failed_) co_await changed_.Wait();
  }
}

Awaitable<Status> WriteSession::ReceivePacket(Incoming* incoming) {
  std::string header(kPacketHeaderBytes, '\0');
  const Micros patience = kPatience * upstream_->threads().idle_timeout;
  Status status = co_await upstream_->Read(header.data(), header.size(), patience);
  if (!status.ok()) co_return status;
  const Result<Packet> packet = DecodePacket(header);
  if (!packet.ok()) co_return packet.status();
  if (!failed_ && packet->offset != received_) co_return Corrupt("a packet out of order");
  incoming->packet = *packet;
  if (shares()) co_return Status::Ok();
  incoming->data = Buffer();
  co_return co_await upstream_->Read(incoming->data.get(), packet->length);
}

Awaitable<void> WriteSession::Take(Incoming incoming) {
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

// Forwarded before it is stored, and stored if it was forwarded, even when the write fails meanwhile: BlockWriter
// relies on it when it salvages.
Awaitable<void> WriteSession::Forward(Incoming incoming) {
  forwarded_ += incoming.packet.length;
  forwarded_last_ = incoming.packet.last;
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
  while (!forwarded_last_) {
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

}  // namespace millrace::dfs
