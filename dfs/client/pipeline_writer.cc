// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/pipeline_writer.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "dfs/wire/blocks.h"

namespace millrace::dfs {

using net::BlockingStream;
using net::Operation;

namespace {

constexpr Micros kDiscardStall = kSecond;  // short, since nodes discard unfinished blocks by themselves as well
// A node that failed may be back, or only its connection may have broken. In both cases it answers soon.
constexpr Micros kFailedStall = 2 * kSecond;

}  // namespace

PipelineWriter::PipelineWriter(std::uint64_t block, std::vector<ReplicaHost> pipeline, Micros stall,
                               std::optional<BlockContent> expected, std::function<TimePoint()> now,
                               std::shared_ptr<tls::Credentials> credentials, std::string token)
    : block_(block),
      pipeline_(std::move(pipeline)),
      stall_(stall),
      expected_(expected),
      credentials_(std::move(credentials)),
      token_(std::move(token)),
      silence_(std::min(stall, kSilence)),
      now_(std::move(now)) {
  pending_.reserve(kPacketBytes);
}

PipelineWriter::~PipelineWriter() {
  if (closed_) return;
  HangUp();
  DiscardEverywhere();
}

Status PipelineWriter::Begin() {
  const std::string request =
      Encode(WriteRequest{block_, first().node, {pipeline_.begin() + 1, pipeline_.end()}, expected_, token_});
  MILLRACE_ASSIGN(const bool local, BeginLocal(request));
  if (!local) MILLRACE_TRY(BeginTcp(request));
  stream_->SetStall(StandingLimit(pipeline_.size() - 1, silence_));
  got_on_ = now_();
  MILLRACE_TRY(ReceiveAck());  // it acknowledges 0 bytes, which says that the pipeline is connected
  stream_->SetStall(silence_);
  return Status::Ok();
}

// Returns false if the node cannot be reached this way: on another machine nobody listens on the socket, and a node of
// another user hangs up without an answer. An error that the node does answer with is final; TCP is not tried then.
Result<bool> PipelineWriter::BeginLocal(std::string_view request) {
  if (first().local_socket.empty()) return false;
  Result<BlockingStream> stream = BlockingStream::ConnectLocal(first().local_socket, silence_);
  if (!stream.ok()) return false;
  std::string payload;
  const Status sent = stream->Send(net::EncodeRequest(Operation::kWriteLocalBlock, request));
  const Result<net::Frame> reply = sent.ok() ? stream->ReceiveReply(&payload) : sent;
  if (!reply.ok() && reply.status().code() == StatusCode::kUnavailable) return false;
  const Status opened = reply.ok() ? net::ReplyStatus(*reply, payload, stream->peer()) : reply.status();
  if (!opened.ok()) return Fail(opened, {first().node});
  Result<Fd> file = stream->ReceiveDescriptor();
  if (!file.ok()) return Fail(file.status(), {first().node});
  file_ = std::move(*file);
  stream_ = std::move(*stream);
  return true;
}

Status PipelineWriter::BeginTcp(std::string_view request) {
  Result<BlockingStream> stream = BlockingStream::ConnectTcp(first().host, first().port, silence_, credentials_);
  if (!stream.ok()) return Fail(stream.status(), {first().node});
  stream_ = std::move(*stream);
  const Status opened = stream_->Call(Operation::kWriteBlock, request).status();
  return opened.ok() ? opened : Fail(opened, {first().node});
}

Status PipelineWriter::Fail(Status why, std::vector<NodeId> nodes) {
  failure_ = why.Within("write " + BlockName(block_));
  for (const NodeId node : nodes) AddFailed(node);
  return failure_;
}

void PipelineWriter::AddFailed(NodeId node) {
  if (std::find(failed_nodes_.begin(), failed_nodes_.end(), node) == failed_nodes_.end()) failed_nodes_.push_back(node);
}

// Requires: `length` is all that was sent, or a whole number of chunks.
BlockContent PipelineWriter::SentUpTo(std::uint64_t length) const {
  return {length, BlockCrc(std::span(chunk_crcs_).first(ChunkCount(length)))};
}

Status PipelineWriter::ReceiveAck() {
  std::string payload;
  const Result<net::Frame> frame = stream_->ReceiveReply(&payload);
  if (!frame.ok()) return Fail(frame.status(), {first().node});
  const Result<Ack> ack = DecodeAck(static_cast<StatusCode>(frame->kind), payload);
  if (!ack.ok()) return Fail(ack.status(), {first().node});
  if (!ack->failure.ok()) return Fail(ack->failure, ack->failed_nodes);
  if (ack->length < acked_bytes_ || ack->length > sent_bytes_ ||
      (ack->finished && (!sent_last_ || ack->length != sent_bytes_))) {
    return Fail(Corrupt("an acknowledgement of bytes that were not sent"), {first().node});
  }
  if (ack->finished) {
    const Status same = CheckContent(block_, SentUpTo(sent_bytes_), {ack->length, ack->crc});
    if (!same.ok()) return Fail(same.Within("node " + std::to_string(first().node.value)), {first().node});
  }
  const TimePoint now = now_();
  if (ack->length > acked_bytes_ || ack->finished) {
    got_on_ = now;
  } else if (now - got_on_ > std::chrono::microseconds(stall_) && !stream_->Readable()) {
    // Nobody knows whose disk hangs, so no node is named. If further acknowledgements are waiting to be read, this one
    // is old and says nothing of the present.
    return Fail(Timeout("no node stored anything within " + std::to_string(stall_ / kMillisecond) + " ms"), {});
  }
  acked_bytes_ = ack->length;
  finished_ = ack->finished;
  while (!sent_.empty() && sent_.front().offset + sent_.front().data.size() <= acked_bytes_) {
    spare_ = std::move(sent_.front().data);
    sent_.pop_front();
  }
  return Status::Ok();
}

Status PipelineWriter::SendPending(bool last) {
  while (sent_.size() >= kWindowPackets) MILLRACE_TRY(ReceiveAck());
  Packet packet;
  packet.offset = sent_bytes_;
  packet.length = static_cast<std::uint32_t>(pending_.size());
  packet.last = last;
  const std::vector<std::uint32_t> crcs = ChunkCrcs(pending_);
  std::copy(crcs.begin(), crcs.end(), packet.crcs.begin());
  chunk_crcs_.insert(chunk_crcs_.end(), crcs.begin(), crcs.end());
  if (sent_.empty()) got_on_ = now_();
  sent_.push_back({sent_bytes_, std::move(pending_)});
  pending_ = std::move(spare_);
  pending_.clear();
  sent_bytes_ += packet.length;
  sent_last_ = last;
  MILLRACE_TRY(SendPacket(packet, sent_.back().data));
  while (stream_->Readable() && !finished_) MILLRACE_TRY(ReceiveAck());
  return Status::Ok();
}

// When the writer puts the data into the node's file itself, a full disk is a failure of the node.
Status PipelineWriter::SendPacket(const Packet& packet, std::string_view data) {
  if (file_.valid()) {
    const Status put = WriteAllAt(file_.get(), data, packet.offset, "into the node's file");
    if (put.code() == StatusCode::kIo) first_spoiled_ = put;
    if (!put.ok()) return Fail(put.Within("node " + std::to_string(first().node.value)), {first().node});
    data = {};
  }
  // The first node stops reading while the second one hangs. The writer waits a little longer than the first node does,
  // so that the second one is named.
  stream_->SetStall(silence_ + silence_ / 8);
  const Status sent = stream_->Send(EncodePacket(packet), data);
  stream_->SetStall(silence_);
  if (sent.ok()) return sent;
  // The node may have sent the reason before it hung up.
  while (failure_.ok() && stream_->Readable()) static_cast<void>(ReceiveAck().ok());
  if (!failure_.ok()) return failure_;
  return Fail(sent, {first().node});
}

Status PipelineWriter::Write(std::string_view data) {
  if (!failure_.ok()) return failure_;
  MILLRACE_CHECK(!sent_last_ && !closed_, "written to after its end");
  while (!data.empty()) {
    const std::string_view piece = data.substr(0, kPacketBytes - pending_.size());
    pending_.append(piece);
    data.remove_prefix(piece.size());
    if (pending_.size() < kPacketBytes) break;
    if (Status sent = SendPending(false); !sent.ok()) {
      pending_.append(data);
      return sent;
    }
  }
  return Status::Ok();
}

Result<WrittenBlock> PipelineWriter::Finish() {
  if (!failure_.ok()) return failure_;
  MILLRACE_TRY(SendPending(true));
  while (!finished_) MILLRACE_TRY(ReceiveAck());
  closed_ = true;
  WrittenBlock written{block_, sent_bytes_, {}, SentUpTo(sent_bytes_).crc};
  for (const ReplicaHost& place : pipeline_) written.nodes.push_back(place.node);
  return written;
}

// ---- unfinished blocks ----

// Closes the block on the node at `length` bytes, or discards it if `length` is 0. Returns kCorrupt if what the node
// closed is not what was sent. Such a replica is not counted, and the master will find it bad. A node whose disk
// refused what this writer put into its file itself does not know of that, so it is told to discard the block.
Status PipelineWriter::FinishAt(const ReplicaHost& place, std::uint64_t length, Micros stall) {
  if (length > 0 && place.node == first().node && !first_spoiled_.ok()) {
    MILLRACE_TRY(FinishAt(place, 0, stall));
    return first_spoiled_;
  }
  MILLRACE_ASSIGN(BlockingStream stream, BlockingStream::ConnectTcp(place.host, place.port, stall, credentials_));
  MILLRACE_ASSIGN(const std::string reply,
                  stream.Call(Operation::kFinishBlockAt, Encode(FinishRequest{block_, length, token_})));
  if (length == 0) return Status::Ok();
  MILLRACE_ASSIGN(const std::uint32_t crc, DecodeCrc(reply));
  return CheckContent(block_, SentUpTo(length), {length, crc}).Within("node " + std::to_string(place.node.value));
}

// A node that does not answer discards the block at its next start.
void PipelineWriter::DiscardEverywhere() {
  for (const ReplicaHost& place : pipeline_) {
    NoteAnswer(place, FinishAt(place, 0, std::min(stall_, kDiscardStall)));
  }
}

Micros PipelineWriter::StallOf(const ReplicaHost& place) const {
  const bool failed = std::find(failed_nodes_.begin(), failed_nodes_.end(), place.node) != failed_nodes_.end();
  return failed ? std::min(stall_, kFailedStall) : stall_;
}

void PipelineWriter::NoteAnswer(const ReplicaHost& place, const Status& status) {
  const StatusCode code = status.code();
  const bool silent = code == StatusCode::kUnavailable || code == StatusCode::kTimeout;
  const bool bad = code == StatusCode::kCorrupt || code == StatusCode::kIo || code == StatusCode::kNoSpace;
  if (silent || bad) AddFailed(place.node);
  if (bad) refusals_ += (refusals_.empty() ? "" : "; ") + status.message();
}

// Call it before nodes are told to close the block, which must not grow from then on.
void PipelineWriter::HangUp() {
  stream_.reset();
  file_.Close();
}

// Nodes forward data before they store it, and finish from the last one to the first. So if a node has all bytes, all
// nodes before it have them too, unless their disk refused them; and if the last node that answers and whose disk did
// not refuse lacks some, no node has finished.
std::uint64_t PipelineWriter::SalvageableLength() {
  if (!sent_last_) return acked_bytes_;
  for (auto place = pipeline_.rbegin(); place != pipeline_.rend(); ++place) {
    const Status whole = FinishAt(*place, sent_bytes_, StallOf(*place));
    NoteAnswer(*place, whole);
    if (whole.ok()) return sent_bytes_;
    if (whole.code() == StatusCode::kInvalid) break;
  }
  return acked_bytes_;
}

WrittenBlock PipelineWriter::CloseAt(std::uint64_t length) {
  WrittenBlock written{block_, length, {}, SentUpTo(length).crc};
  for (const ReplicaHost& place : pipeline_) {
    const Status closed = FinishAt(place, length, StallOf(place));
    if (closed.ok()) written.nodes.push_back(place.node);
    NoteAnswer(place, closed);
  }
  return written;
}

void PipelineWriter::AppendFrom(std::uint64_t length, std::string* out) const {
  for (const SentPacket& sent : sent_) {
    const std::uint64_t skip =
        std::clamp<std::uint64_t>(length, sent.offset, sent.offset + sent.data.size()) - sent.offset;
    out->append(sent.data, skip);
  }
  out->append(pending_);
}

Result<WrittenBlock> PipelineWriter::Salvage(std::string* unacknowledged, std::vector<NodeId>* failed_nodes) {
  MILLRACE_CHECK(!failure_.ok() && !closed_, "nothing to salvage");
  HangUp();
  closed_ = true;
  WrittenBlock written{block_, 0, {}};
  const std::uint64_t length = SalvageableLength();
  if (length > 0) {
    written = CloseAt(length);
  } else {
    DiscardEverywhere();
  }
  *failed_nodes = failed_nodes_;
  if (length > 0 && written.nodes.empty()) {
    const std::string why =
        refusals_.empty() ? "none of its nodes answers any more" : "none of its nodes has kept it (" + refusals_ + ")";
    return Unavailable("close " + BlockName(block_) + " at byte " + std::to_string(length) + ": " + why +
                       "; last failure: " + failure_.message());
  }
  unacknowledged->clear();
  AppendFrom(written.length, unacknowledged);
  return written;
}

Result<std::unique_ptr<BlockWriter>> BlockWriter::Open(std::uint64_t block, const std::vector<ReplicaHost>& pipeline,
                                                       Micros stall, std::vector<NodeId>* failed_nodes,
                                                       const std::optional<BlockContent>& expected,
                                                       const std::shared_ptr<tls::Credentials>& credentials,
                                                       const std::string& token) {
  MILLRACE_CHECK(!pipeline.empty() && pipeline.size() <= kMaxPipeline, std::to_string(pipeline.size()));
  failed_nodes->clear();
  auto writer = std::make_unique<PipelineWriter>(block, pipeline, stall, expected, std::chrono::steady_clock::now,
                                                 credentials, token);
  if (const Status begun = writer->Begin(); !begun.ok()) {
    *failed_nodes = writer->failed_nodes();
    // A node that refused the block may hold a finished one of the same id, which this writer must not touch. The
    // other nodes drop a block without bytes by themselves.
    writer->KeepNothing();
    return begun;
  }
  return std::unique_ptr<BlockWriter>(std::move(writer));
}

}  // namespace millrace::dfs
