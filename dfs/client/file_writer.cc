// SPDX-License-Identifier: Apache-2.0
#include "dfs/client/file_writer.h"

#include <algorithm>

#include "base/text.h"

namespace millrace::dfs {
namespace {

constexpr int kMostFailures = 5;  // a write is given up after this many in a row

}  // namespace

BlockFileWriter::~BlockFileWriter() { Abandon(); }

Status BlockFileWriter::Write(std::string_view data) {
  if (!failed_.ok()) return failed_;
  if (lease_ == nullptr) return Invalid("write " + Quote(path_) + ": the file is closed");
  bytes_ += data.size();
  failed_ = WriteOnce(data);
  return failed_;
}

Status BlockFileWriter::WriteOnce(std::string_view data) {
  while (!data.empty()) {
    if (block_ == nullptr) MILLRACE_TRY(OpenBlock());
    const std::string_view piece =
        data.substr(0, std::min<std::uint64_t>(data.size(), lease_->block_size() - block_bytes_));
    block_bytes_ += piece.size();
    data.remove_prefix(piece.size());
    const Status sent = block_->Write(piece);
    if (sent.ok() && block_bytes_ == lease_->block_size()) {
      MILLRACE_TRY(FinishBlock());
    } else if (!sent.ok()) {
      MILLRACE_TRY(Recover(sent));
    }
  }
  return Status::Ok();
}

Status BlockFileWriter::OpenBlock() {
  while (true) {
    MILLRACE_ASSIGN(const Lease::NewBlock block, AddBlock());
    std::vector<NodeId> failed_nodes;
    Result<std::unique_ptr<BlockWriter>> opened =
        BlockWriter::Open(block.id, block.targets, stall_, &failed_nodes, {}, credentials_, block.token);
    if (opened.ok()) {
      block_ = *std::move(opened);
      block_id_ = block.id;
      block_bytes_ = 0;
      return Status::Ok();
    }
    MILLRACE_TRY(lease_->DropBlock(block.id));
    excluded_.insert(excluded_.end(), failed_nodes.begin(), failed_nodes.end());
    if (++failures_ >= kMostFailures) return opened.status().Within("write " + Quote(path_));
  }
}

// When no other node is left, those that have failed are tried again: a worker may have been restarted meanwhile.
Result<Lease::NewBlock> BlockFileWriter::AddBlock() {
  Result<Lease::NewBlock> block = lease_->AddBlock(excluded_);
  if (block.ok() || excluded_.empty()) return block;
  excluded_.clear();
  return lease_->AddBlock(excluded_);
}

Status BlockFileWriter::FinishBlock() {
  Result<WrittenBlock> finished = block_->Finish();
  if (!finished.ok()) return Recover(finished.status());
  block_.reset();
  written_.push_back(*std::move(finished));
  failures_ = 0;
  return Status::Ok();
}

Status BlockFileWriter::Recover(const Status& why) {
  if (++failures_ >= kMostFailures) return why.Within("write " + Quote(path_));
  std::string unacknowledged;
  std::vector<NodeId> failed_nodes;
  const std::unique_ptr<BlockWriter> broken = std::move(block_);
  const Result<WrittenBlock> saved = broken->Salvage(&unacknowledged, &failed_nodes);
  if (!saved.ok()) return saved.status().Within("write " + Quote(path_) + ": " + why.message());
  excluded_.insert(excluded_.end(), failed_nodes.begin(), failed_nodes.end());
  if (saved->length > 0) {
    written_.push_back(*saved);
  } else {
    MILLRACE_TRY(lease_->DropBlock(block_id_));
  }
  return WriteOnce(unacknowledged);
}

Status BlockFileWriter::FinishAll(const char* what) {
  if (!failed_.ok()) return failed_;
  if (lease_ == nullptr) return Invalid(what + (" " + Quote(path_)) + ": the file is closed already");
  while (block_ != nullptr && failed_.ok()) failed_ = FinishBlock();  // a recovery may open another one
  return failed_;
}

Status BlockFileWriter::Sync() {
  MILLRACE_TRY(FinishAll("sync"));
  if (synced_ == written_.size()) return Status::Ok();
  MILLRACE_TRY(lease_->Sync(synced_, written_));
  synced_ = written_.size();
  return Status::Ok();
}

Status BlockFileWriter::Close() {
  MILLRACE_TRY(FinishAll("close"));
  const Status completed = lease_->Complete(written_);
  if (completed.ok()) lease_.reset();
  return completed;
}

Result<FileWriter::HandedOver> BlockFileWriter::HandOver(const std::string& attempt) {
  MILLRACE_TRY(FinishAll("hand over"));
  MILLRACE_TRY(lease_->HandOver(attempt));
  HandedOver handed{lease_->file(), written_, bytes_};
  lease_.reset();
  return handed;
}

void BlockFileWriter::Abandon() {
  block_.reset();
  if (lease_ == nullptr) return;
  lease_->Abandon();
  lease_.reset();
}

}  // namespace millrace::dfs
