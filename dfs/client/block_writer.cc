#include "dfs/client/block_writer.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/net/blocking_stream.h"
#include "dfs/wire/transfer.h"

namespace millrace::dfs {
namespace {

using net::BlockingStream;
using net::Operation;

constexpr Micros kDiscardStall = kSecond;  // discarding is a courtesy

// Length 0 discards.
Status FinishBlockAt(const Place& place, std::uint64_t block, std::uint64_t length, Micros stall) {
  MILLRACE_ASSIGN(BlockingStream stream, BlockingStream::ConnectTcp(place.host, place.port, stall));
  return stream.Call(Operation::kFinishBlockAt, Encode(FinishRequest{block, length})).status();
}

class PipelineWriter final : public BlockWriter {
 public:
  PipelineWriter(std::uint64_t block, std::vector<Place> pipeline, Micros stall, BlockingStream stream)
      : block_(block), pipeline_(std::move(pipeline)), stall_(stall), stream_(std::move(stream)) {
    pending_.reserve(kPacketBytes);
  }
  ~PipelineWriter() override;

  Status Begin();
  Status Write(std::string_view data) override;
  Result<WrittenBlock> Finish() override;
  Result<WrittenBlock> Salvage(std::string* unacknowledged, std::vector<std::uint32_t>* failed_nodes) override;
  [[nodiscard]] const std::vector<std::uint32_t>& failed_nodes() const { return failed_nodes_; }
  void KeepNothing() { closed_ = true; }

 private:
  struct Sent {
    std::uint64_t offset;
    std::string data;
  };

  Status SendPending(bool last);
  Status ReceiveAck();
  Status Fail(Status why, std::vector<std::uint32_t> nodes);
  void AddFailed(std::uint32_t node);
  [[nodiscard]] WrittenBlock CloseAt(std::uint64_t length);
  void DiscardEverywhere();
  void NoteAnswer(const Place& place, const Status& status);
  [[nodiscard]] std::uint64_t SalvageableLength();
  void TakeFrom(std::uint64_t length, std::string* out) const;

  const std::uint64_t block_;
  const std::vector<Place> pipeline_;
  const Micros stall_;
  std::optional<BlockingStream> stream_;
  std::string pending_;    // not yet a whole packet
  std::deque<Sent> sent_;  // not yet acknowledged
  std::string spare_;      // a buffer to use again
  std::uint64_t sent_bytes_ = 0, acked_bytes_ = 0;
  bool sent_last_ = false, finished_ = false, closed_ = false;
  Status failure_;
  std::vector<std::uint32_t> failed_nodes_;
};

PipelineWriter::~PipelineWriter() {
  if (closed_) return;
  stream_.reset();
  DiscardEverywhere();
}

// A node that does not answer discards it at its next start.
void PipelineWriter::DiscardEverywhere() {
  for (const Place& place : pipeline_) {
    NoteAnswer(place, FinishBlockAt(place, block_, 0, std::min(stall_, kDiscardStall)));
  }
}

void PipelineWriter::NoteAnswer(const Place& place, const Status& status) {
  if (status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kTimeout) AddFailed(place.node);
}

Status PipelineWriter::Begin() {
  const WriteRequest request{block_, pipeline_[0].node, {pipeline_.begin() + 1, pipeline_.end()}};
  const Status opened = stream_->Call(Operation::kWriteBlock, Encode(request)).status();
  if (!opened.ok()) return Fail(opened, {pipeline_[0].node});
  return ReceiveAck();  // of nothing: the pipeline stands
}

Status PipelineWriter::Fail(Status why, std::vector<std::uint32_t> nodes) {
  failure_ = why.Within("write block " + std::to_string(block_));
  for (const std::uint32_t node : nodes) AddFailed(node);
  return failure_;
}

void PipelineWriter::AddFailed(std::uint32_t node) {
  if (std::find(failed_nodes_.begin(), failed_nodes_.end(), node) == failed_nodes_.end()) failed_nodes_.push_back(node);
}

Status PipelineWriter::ReceiveAck() {
  std::string payload;
  const Result<net::Frame> frame = stream_->ReceiveReply(&payload);
  // A pipeline that is silent may hang anywhere; one that is gone is gone at its first node.
  if (!frame.ok() && frame.status().code() == StatusCode::kTimeout) return Fail(frame.status(), {});
  if (!frame.ok()) return Fail(frame.status(), {pipeline_[0].node});
  const Result<Ack> ack = DecodeAck(static_cast<StatusCode>(frame->kind), payload);
  if (!ack.ok()) return Fail(ack.status(), {pipeline_[0].node});
  if (!ack->failure.ok()) return Fail(ack->failure, ack->failed_nodes);
  if (ack->length < acked_bytes_ || ack->length > sent_bytes_ ||
      (ack->finished && (!sent_last_ || ack->length != sent_bytes_))) {
    return Fail(Corrupt("an acknowledgement of bytes that were not sent"), {pipeline_[0].node});
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
  sent_.push_back({sent_bytes_, std::move(pending_)});
  pending_ = std::move(spare_);
  pending_.clear();
  sent_bytes_ += packet.length;
  sent_last_ = last;
  if (const Status sent = stream_->Send(EncodePacket(packet), sent_.back().data); !sent.ok()) {
    // The node may have said why before it hung up.
    while (failure_.ok() && stream_->Readable()) static_cast<void>(ReceiveAck().ok());
    if (!failure_.ok()) return failure_;
    if (sent.code() == StatusCode::kTimeout) return Fail(sent, {});
    return Fail(sent, {pipeline_[0].node});
  }
  while (stream_->Readable() && !finished_) MILLRACE_TRY(ReceiveAck());
  return Status::Ok();
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
  WrittenBlock written{block_, sent_bytes_, {}};
  for (const Place& place : pipeline_) written.nodes.push_back(place.node);
  return written;
}

// Nodes forward before they store, and finish from the last to the first: a node that has all bytes has only such
// before it, and if the last one that answers lacks some, none is finished.
std::uint64_t PipelineWriter::SalvageableLength() {
  if (!sent_last_) return acked_bytes_;
  for (auto place = pipeline_.rbegin(); place != pipeline_.rend(); ++place) {
    const Status whole = FinishBlockAt(*place, block_, sent_bytes_, stall_);
    if (whole.ok()) return sent_bytes_;
    if (whole.code() == StatusCode::kInvalid) break;
  }
  return acked_bytes_;
}

WrittenBlock PipelineWriter::CloseAt(std::uint64_t length) {
  WrittenBlock written{block_, length, {}};
  for (const Place& place : pipeline_) {
    const Status closed = FinishBlockAt(place, block_, length, stall_);
    if (closed.ok()) written.nodes.push_back(place.node);
    NoteAnswer(place, closed);
  }
  return written;
}

void PipelineWriter::TakeFrom(std::uint64_t length, std::string* out) const {
  for (const Sent& sent : sent_) {
    const std::uint64_t skip =
        std::clamp<std::uint64_t>(length, sent.offset, sent.offset + sent.data.size()) - sent.offset;
    out->append(sent.data, skip);
  }
  out->append(pending_);
}

Result<WrittenBlock> PipelineWriter::Salvage(std::string* unacknowledged, std::vector<std::uint32_t>* failed_nodes) {
  MILLRACE_CHECK(!failure_.ok() && !closed_, "nothing to salvage");
  stream_.reset();
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
    return Unavailable("close block " + std::to_string(block_) + " at byte " + std::to_string(length) +
                       ": none of its nodes answers any more; last failure: " + failure_.message());
  }
  unacknowledged->clear();
  TakeFrom(written.length, unacknowledged);
  return written;
}

}  // namespace

Result<std::unique_ptr<BlockWriter>> BlockWriter::Open(std::uint64_t block, const std::vector<Place>& pipeline,
                                                       Micros stall, std::vector<std::uint32_t>* failed_nodes) {
  MILLRACE_CHECK(!pipeline.empty() && pipeline.size() <= kMaxPipeline, std::to_string(pipeline.size()));
  failed_nodes->clear();
  Result<BlockingStream> stream = BlockingStream::ConnectTcp(pipeline[0].host, pipeline[0].port, stall);
  if (!stream.ok()) {
    *failed_nodes = {pipeline[0].node};
    return stream.status().Within("write block " + std::to_string(block));
  }
  auto writer = std::make_unique<PipelineWriter>(block, pipeline, stall, std::move(*stream));
  if (const Status begun = writer->Begin(); !begun.ok()) {
    *failed_nodes = writer->failed_nodes();
    // A node that refused it may hold a finished block of this number, which is not ours to touch; the others drop a
    // block without bytes by themselves.
    writer->KeepNothing();
    return begun;
  }
  return std::unique_ptr<BlockWriter>(std::move(writer));
}

}  // namespace millrace::dfs
