// PipelineWriter: what becomes of a block that was not finished.
#include <algorithm>
#include <utility>

#include "dfs/client/pipeline_writer.h"
#include "dfs/wire/block_name.h"

namespace millrace::dfs {

using net::BlockingStream;
using net::Operation;

namespace {

constexpr Micros kDiscardStall = kSecond;  // discarding is a courtesy
// Of a node that failed: it may be back, or only its connection broken, and then it answers soon.
constexpr Micros kFailedStall = 2 * kSecond;

}  // namespace

// Length 0 discards. kCorrupt: what the node closed is not what was sent; nobody counts on it, and the master will
// find it bad.
Status PipelineWriter::FinishAt(const Place& place, std::uint64_t length, Micros stall) {
  MILLRACE_ASSIGN(BlockingStream stream, BlockingStream::ConnectTcp(place.host, place.port, stall));
  MILLRACE_ASSIGN(const std::string reply,
                  stream.Call(Operation::kFinishBlockAt, Encode(FinishRequest{block_, length})));
  if (length == 0) return Status::Ok();
  MILLRACE_ASSIGN(const std::uint32_t crc, DecodeCrc(reply));
  return CheckContent(block_, SentUpTo(length), {length, crc}).Within("node " + std::to_string(place.node));
}

PipelineWriter::~PipelineWriter() {
  if (closed_) return;
  HangUp();
  DiscardEverywhere();
}

// A node that does not answer discards it at its next start.
void PipelineWriter::DiscardEverywhere() {
  for (const Place& place : pipeline_) {
    NoteAnswer(place, FinishAt(place, 0, std::min(stall_, kDiscardStall)));
  }
}

Micros PipelineWriter::StallOf(const Place& place) const {
  const bool failed = std::find(failed_nodes_.begin(), failed_nodes_.end(), place.node) != failed_nodes_.end();
  return failed ? std::min(stall_, kFailedStall) : stall_;
}

void PipelineWriter::NoteAnswer(const Place& place, const Status& status) {
  const StatusCode code = status.code();
  if (code == StatusCode::kUnavailable || code == StatusCode::kTimeout || code == StatusCode::kCorrupt) {
    AddFailed(place.node);
  }
}

// Before nodes are told to close the block: it must not grow under them.
void PipelineWriter::HangUp() {
  stream_.reset();
  file_.Close();
}

// Nodes forward before they store, and finish from the last to the first: a node that has all bytes has only such
// before it, and if the last one that answers lacks some, none is finished.
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
  for (const Place& place : pipeline_) {
    const Status closed = FinishAt(place, length, StallOf(place));
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
    return Unavailable("close " + BlockName(block_) + " at byte " + std::to_string(length) +
                       ": none of its nodes answers any more; last failure: " + failure_.message());
  }
  unacknowledged->clear();
  TakeFrom(written.length, unacknowledged);
  return written;
}

}  // namespace millrace::dfs
